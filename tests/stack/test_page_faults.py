"""The pages when things happen at a bad moment: in mid-answer, twice, late, or not at all."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, expect

from tests.fakes.portal import Portal
from tests.stack.browsing import say, start
from tests.stack.plans import message

pytestmark = [pytest.mark.stack, pytest.mark.browser]
SLOW = message([], "slow " * 400, 0.05)
INSECURE = """
Object.defineProperty(Crypto.prototype, "randomUUID", { value: undefined });
Object.defineProperty(Navigator.prototype, "clipboard", { value: undefined });
"""


def ask(command: str) -> list[Any]:
    return ["shell", {"command": command}]


def lose_the_answer(route: Route) -> None:
    """The portal gets the request; its answer is lost."""
    route.fetch()
    route.abort()


def test_loading_in_mid_answer_shows_it_all_over_one_connection(
    portal: Portal, open_page: Any
) -> None:
    page, late = open_page(), open_page()
    sockets: list[str] = []
    late.on("websocket", lambda socket: sockets.append(socket.url))
    start(page, portal, message([], "word " * 1500 + "end.", 0.002))
    expect(page.locator("article.assistant")).to_contain_text("word word")
    late.goto(page.url)
    expect(late.locator("article.assistant.streaming")).to_contain_text("word word")
    expect(late.locator("article.assistant")).to_contain_text("end.", timeout=30000)
    assert len(sockets) == 1
    assert late.locator("article.assistant").inner_text().count("word") == 1500
    expect(late.locator("article")).to_have_count(2)


def test_a_message_whose_answer_was_lost_is_not_doubled(portal: Portal, open_page: Any) -> None:
    page = open_page()
    start(page, portal, message([], "ok"))
    expect(page.locator("article.assistant")).to_contain_text("ok")
    # Neither the answer nor the row of the new message gets through, then both do.
    page.route("**/messages", lose_the_answer)
    page.route("**/m/*/", lambda route: route.abort())
    say(page, "only once")
    expect(page.locator("[data-note]")).to_contain_text("Not sent")
    expect(page.locator("#text")).to_have_value("only once")
    page.unroute("**/messages")
    page.unroute("**/m/*/")
    page.press("#text", "Enter")
    expect(page.locator("article.assistant")).to_have_count(2)
    page.reload()
    expect(page.locator("article.user")).to_have_count(2)
    expect(page.locator("#text")).to_have_value("")


def test_a_first_message_whose_answer_was_lost_is_there_once(
    portal: Portal, open_page: Any
) -> None:
    page = open_page()
    page.route("**/messages", lose_the_answer)
    start(page, portal, message([], "ok"))
    expect(page.locator("article.assistant")).to_contain_text("ok")
    expect(page.locator("article.user")).to_have_count(1)
    expect(page.locator("#text")).to_have_value("")
    expect(page.locator("[data-note]")).to_have_text("")
    page.goto(f"{portal.url}/")
    expect(page.locator("#text")).to_have_value("")


def test_a_reason_being_typed_survives_what_happens_around_it(
    portal: Portal, open_page: Any
) -> None:
    page, inbox = open_page(), open_page()
    start(page, portal, message([[ask("touch first"), ask("touch second")]], "Done."))
    expect(page.locator("[data-approval]")).to_have_count(2)
    page.locator("[data-approval] .options summary").last.click()
    reason = page.locator("[data-reason]").last
    reason.click()
    page.keyboard.type("not ")
    inbox.goto(f"{portal.url}/approvals/")
    first = inbox.locator("[data-approval]", has_text="touch first")
    first.get_by_role("button", name="Deny D").click()
    expect(page.locator(".call.denied")).to_have_count(1)
    page.keyboard.type("this one")
    expect(reason).to_be_focused()
    expect(reason).to_have_value("not this one")
    page.locator("[data-approval]").get_by_role("button", name="Deny D").click()
    expect(page.locator(".call.denied")).to_have_count(2)
    expect(page.locator(".call.denied summary:focus")).to_contain_text("touch second")


def test_another_answer_is_seen_while_it_is_written(portal: Portal, open_page: Any) -> None:
    page = open_page()
    start(page, portal, SLOW)
    expect(page.locator("article.assistant")).to_contain_text("slow slow")
    page.click("[data-stop]")
    expect(page.locator("article.assistant")).to_contain_text("Stopped here.")
    page.evaluate(
        """id => fetch(`/api/v1/messages/${id}/regenerate`, {
             method: "POST", body: "{}",
             headers: {"Content-Type": "application/json",
                       "X-CSRFToken": document.body.dataset.csrf}})""",
        page.locator("article.user").get_attribute("data-message"),
    )
    expect(page.locator("article.assistant.streaming")).to_contain_text("slow slow")
    expect(page.locator("article")).to_have_count(2)
    page.click("[data-stop]")
    expect(page.locator("article.assistant")).to_contain_text("Stopped here.")


def test_a_command_beside_a_run_leaves_its_stop_button(portal: Portal, open_page: Any) -> None:
    page = open_page()
    start(page, portal, SLOW)
    expect(page.locator("article.assistant")).to_contain_text("slow slow")
    say(page, "/help")
    expect(page.locator("[data-conversation]")).to_contain_text("/steer TEXT")
    expect(page.locator("[data-state]")).to_contain_text("Working")
    page.click("[data-stop]")
    expect(page.locator("[data-state]")).to_have_text("Stopped.")
    expect(page.locator("[data-stop]")).to_be_hidden()


def test_a_queued_message_waits_below_and_takes_its_place(portal: Portal, open_page: Any) -> None:
    page = open_page()
    start(page, portal, SLOW)
    expect(page.locator("article.assistant")).to_contain_text("slow slow")
    say(page, message([], "second answer"))
    expect(page.locator("article").last).to_contain_text("Queued")
    expect(page.locator("[data-state]")).to_contain_text("it is sent when")
    page.click("[data-stop]")
    expect(page.locator("article").last).to_contain_text("second answer")
    expect(page.locator("[data-queued]")).to_have_count(0)
    kinds = [re.compile(kind) for kind in ("user", "assistant", "user", "assistant")]
    expect(page.locator("article")).to_have_class(kinds)


def test_a_held_key_decides_once(portal: Portal, open_page: Any) -> None:
    page = open_page()
    start(page, portal, message([[ask("touch held")]], "Done."))
    posts: list[str] = []
    page.on("request", lambda asked: posts.append(asked.url) if "decide" in asked.url else None)
    page.locator("[data-approval]").focus()
    for _ in range(3):
        page.keyboard.down("d")
    page.keyboard.up("d")
    expect(page.locator(".call.denied")).to_have_count(1)
    assert len(posts) == 1


def test_the_inbox_stays_fresh_and_leaves_what_is_typed(portal: Portal, open_page: Any) -> None:
    page, inbox = open_page(), open_page()
    inbox.goto(f"{portal.url}/approvals/")
    start(page, portal, message([[ask("touch one"), ask("touch two")]], "Done."))
    expect(inbox.locator("[data-approval]")).to_have_count(2, timeout=10000)
    expect(inbox).to_have_title(re.compile(r"^\(2\) "))
    two = inbox.locator("[data-approval]", has_text="touch two")
    two.locator("summary").click()
    two.locator("[data-reason]").fill("a reason")
    inbox.locator("[data-approval]", has_text="touch one").focus()
    inbox.keyboard.press("d")
    expect(inbox.locator(".history li").first).to_contain_text("touch one")
    expect(two).to_be_focused()
    expect(two.locator("[data-reason]")).to_have_value("a reason")
    inbox.keyboard.press("d")
    expect(inbox.locator("[data-empty]")).to_be_visible()
    expect(inbox).to_have_title(re.compile(r"^Approvals"))


def test_a_file_that_is_still_uploading_goes_with_its_message(
    portal: Portal, open_page: Any
) -> None:
    page = open_page()
    start(page, portal, message([], "ok"))
    held: list[Route] = []
    page.route("**/api/v1/files", lambda route: held.append(route))
    page.set_input_files(
        "[data-attach]",
        [
            {"name": name, "mimeType": "text/plain", "buffer": b"text"}
            for name in ("kept.txt", "removed.txt")
        ],
    )
    page.get_by_role("button", name="Remove removed.txt").click()
    with page.expect_request("**/messages") as sent:
        say(page, "with a file")
        for route in held:
            route.continue_()
    assert len(sent.value.post_data_json["files"]) == 1
    expect(page.locator("[data-files] li")).to_have_count(0)


def test_a_portal_at_home_without_https_works(portal: Portal, open_page: Any) -> None:
    page = open_page()
    page.add_init_script(INSECURE)
    start(page, portal, message([], "```\ncode\n```"))
    expect(page.locator("article.assistant pre")).to_contain_text("code")
    expect(page.locator("article.user:not(.sending)")).to_have_count(1)
    expect(page.locator("[data-copy]")).to_have_count(0)


def test_a_dead_connection_is_noticed_and_heals(portal: Portal, open_page: Any) -> None:
    page, other = open_page(), open_page()
    start(other, portal, message([], "first"))
    dead: list[bool] = []

    def cut(route: WebSocketRoute) -> None:
        server, first = route.connect_to_server(), not dead
        dead.append(first)
        server.on_message(lambda text: None if dead[0] and first and cutting else route.send(text))

    cutting: list[bool] = []
    page.route_web_socket("**/ws/**", cut)
    page.clock.install()
    page.goto(other.url)
    expect(page.locator("article.assistant")).to_contain_text("first")
    page.wait_for_timeout(300)
    cutting.append(True)
    say(other, message([], "unheard"))
    expect(other.locator("article.assistant").last).to_contain_text("unheard")
    expect(page.locator("article.user")).to_have_count(1)
    page.clock.fast_forward(21000)
    page.clock.fast_forward(11000)
    expect(page.locator("article.assistant").last).to_contain_text("unheard")
    expect(page.locator("[data-lost]")).to_have_text("")


def test_a_wrong_address_says_so_and_does_not_reload_for_ever(
    portal: Portal, open_page: Any
) -> None:
    page: Page = open_page()
    start(page, portal, message([], "ok"))
    loads: list[str] = []
    page.on("load", lambda: loads.append(page.url))
    page.route_web_socket("**/ws/**", lambda route: route.close(code=4401))
    page.reload()
    expect(page.locator("[data-lost]")).to_contain_text("not the portal's own")
    assert len(loads) == 2
