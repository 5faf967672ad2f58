"""The pages in a real browser: what a person does, and that nothing on them is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.fakes.portal import Portal
from tests.stack.browsing import say, start
from tests.stack.plans import LOOK, message

pytestmark = [pytest.mark.stack, pytest.mark.browser]
TEXT = (
    "Here is *it*:\n\n- one\n- two\n\n```python\nreturn 1\n```\n\n"
    + "and more words " * 20
    + "end."
)


def test_an_answer_is_streamed_and_rendered(portal: Portal, open_page: Any) -> None:
    page = open_page()
    start(page, portal, message([], TEXT, 0.02))
    answer = page.locator("article.assistant .answer")
    expect(answer).to_contain_text("and more words")
    expect(answer.locator("li")).to_have_text(["one", "two"])
    expect(answer.locator("pre .k")).to_have_text("return")
    expect(answer).to_contain_text("end.", timeout=15000)
    expect(page.locator("article")).to_have_count(2)
    expect(page.locator("[data-stop]")).to_be_hidden()


def test_two_tabs_and_a_reload_show_the_same_text(portal: Portal, open_page: Any) -> None:
    page, phone = open_page(), open_page(viewport={"width": 390, "height": 800})
    start(page, portal, message([], TEXT, 0.03))
    phone.goto(page.url)
    for each in (page, phone):
        expect(each.locator("article.assistant")).to_contain_text("more words")
    page.reload()
    for each in (page, phone):
        expect(each.locator("article.assistant")).to_contain_text("end.", timeout=20000)
        expect(each.locator("article")).to_have_count(2)
    texts = [each.locator("article.assistant .answer").inner_text() for each in (page, phone)]
    assert texts[0] == texts[1]
    assert texts[0].count("and more words") == 20
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_card_is_answered_by_key_and_by_button(portal: Portal, open_page: Any) -> None:
    page = open_page()
    turns = [
        [LOOK],
        [["shell", {"command": "touch a\u200bb"}]],
        [["shell", {"command": "touch c"}]],
    ]
    start(page, portal, message(turns, "Both decided."))
    card = page.locator("[data-approval]")
    expect(card.locator(".exact")).to_have_text("touch a\\u{200b}b")
    expect(card.locator("[data-left]")).to_contain_text("s left")
    assert not card.evaluate("card => card.contains(document.activeElement)")
    card.focus()
    page.keyboard.press("d")
    expect(page.locator(".call.denied")).to_have_count(1)
    expect(card.locator(".exact")).to_have_text("touch c")
    card.get_by_role("button", name="Allow A").click()
    expect(page.locator("article.assistant").last).to_contain_text("Both decided.")
    expect(page.locator(".call.completed")).to_have_count(2)
    expect(card).to_have_count(0)


def test_edited_arguments_are_what_runs(portal: Portal, open_page: Any) -> None:
    page = open_page()
    start(page, portal, message([[["shell", {"command": "touch before"}]]], "Done."))
    card = page.locator("[data-approval]")
    card.locator("summary").click()
    card.locator("[data-arguments]").fill("{not json")
    card.get_by_role("button", name="Allow with these arguments").click()
    expect(card.get_by_role("alert")).to_have_text("These are not valid JSON arguments.")
    card.locator("[data-arguments]").fill('{"command": "touch after; ls"}')
    card.get_by_role("button", name="Allow with these arguments").click()
    call = page.locator(".call.completed")
    call.locator("summary").click()
    expect(call.locator("[data-output]")).to_contain_text("after")
    expect(call).to_contain_text("arguments edited")


def test_stop_ends_the_answer(portal: Portal, open_page: Any) -> None:
    page = open_page()
    start(page, portal, message([], "slow " * 400, 0.05))
    expect(page.locator("article.assistant")).to_contain_text("slow slow")
    page.click("[data-stop]")
    expect(page.locator("article.assistant")).to_contain_text("Stopped here.")
    expect(page.locator("[data-stop]")).to_be_hidden()
    say(page, "/help")
    expect(page.locator("article.assistant").last).to_contain_text("/steer TEXT")


def test_the_inbox_shows_and_decides(portal: Portal, open_page: Any) -> None:
    page, inbox = open_page(), open_page()
    start(page, portal, message([[["shell", {"command": "touch inbox"}]]], "Seen."))
    expect(page.locator("[data-waiting]")).to_contain_text("1")
    inbox.goto(f"{portal.url}/approvals/")
    inbox.locator("[data-approval]").get_by_role("button", name="Deny D").click()
    expect(inbox.locator(".history li").first).to_contain_text("touch inbox")
    expect(page.locator(".call.denied")).to_have_count(1)


def test_a_draft_survives_a_reload_and_unsent_text_is_kept(portal: Portal, open_page: Any) -> None:
    page = open_page()
    start(page, portal, message([], "ok"))
    page.fill("#text", "half a thought")
    page.reload()
    expect(page.locator("#text")).to_have_value("half a thought")
    page.context.set_offline(True)
    page.keyboard.press("Control+End")
    page.press("#text", "Enter")
    expect(page.locator("[data-note]")).to_contain_text("Not sent")
    expect(page.locator("#text")).to_have_value("half a thought")
    page.context.set_offline(False)


def test_a_token_is_made_shown_once_and_revoked(portal: Portal, open_page: Any) -> None:
    page = open_page()
    page.goto(f"{portal.url}/settings/")
    page.fill(".fields input[name=name] >> nth=1", "laptop")
    page.get_by_role("button", name="Create a token").click()
    expect(page.locator(".secret pre")).to_have_text(re.compile(r"hp_\S{40,}"))
    page.goto(f"{portal.url}/settings/")
    expect(page.locator(".secret")).to_have_count(0)
    token = page.locator(".tokens li", has_text="laptop")
    token.get_by_role("button", name="Revoke").click()
    expect(page.locator(".tokens li", has_text="laptop")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "path",
    ["", "approvals/", "settings/", "accounts/2fa/", "accounts/password/change/", "nowhere/"],
)
def test_each_page_opens_without_complaint(
    portal: Portal, open_page: Any, path: str, scheme: str
) -> None:
    page = open_page(color_scheme=scheme, viewport={"width": 390, "height": 800})
    answer = page.goto(f"{portal.url}/{path}")
    if path == "nowhere/":
        assert answer.status == 404
    else:
        assert answer.status == 200
        assert "unsafe-inline" not in answer.headers["content-security-policy"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    red = int(re.findall(r"\d+", background)[0])
    assert (red > 200) is (scheme == "light")
