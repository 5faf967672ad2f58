"""The matrix, rules, switches and the explanation."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry, GroupLevel, User
from hermes_site.lib.errors import Conflict, NotFound, UserFacing
from tools.models import MatrixCell, ToolRule, ToolSwitch
from tools.registry import TOOLS
from tools.selectors.policy import decide
from tools.services.matrix import (
    matrix_changes,
    matrix_now,
    matrix_seen,
    matrix_set,
    users_by_level,
)
from tools.services.switch import switch_set

MATRIX = "admin:tools_matrixcell_changelist"
SWITCHES = "admin:tools_toolswitch_changelist"
pytestmark = pytest.mark.rows


def chosen(page: Any, **changes: str) -> dict[str, str]:
    """The grid's form as the browser would send it; ``auto_system="deny"`` chooses another."""
    fields = dict(re.findall(r'type="radio" name="(cell-[^"]+)" value="(\w+)" checked', page.text))
    assert len(fields) == 12
    fields["seen"] = re.search(r'name="seen" value="(\w+)"', page.text).group(1)  # type: ignore[union-attr]
    for place, outcome in changes.items():
        level, category = place.rsplit("_", 1)
        fields[f"cell-{level}-{category}"] = outcome
    return fields


def post(client: Client, fields: dict[str, str], step: str, **more: str) -> Any:
    return client.post(reverse(MATRIX), {**fields, "step": step, **more})


def changed_cells() -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(action="matrix.set").order_by("id"))


def test_closing_is_reviewed_with_who_is_affected_and_then_saved(
    root: Client, alice: Any, bob: Any
) -> None:
    fields = chosen(root.get(reverse(MATRIX)), auto_write="confirm")
    review = post(root, fields, "review")
    (row,) = review.context["changes"]
    # Alice, Bob and the administrator.
    assert (row["change"].old, row["change"].new, row["change"].affected) == ("auto", "confirm", 3)
    assert review.context["opens"] is False
    assert matrix_now()["auto", "write"] == "auto"
    assert changed_cells() == []
    assert post(root, fields, "save").status_code == 302
    assert matrix_now()["auto", "write"] == "confirm"
    (entry,) = changed_cells()
    assert (entry.actor, entry.target, entry.via) == ("admin@example.com", "auto x write", "admin")
    assert entry.data == {"from": "auto", "to": "confirm", "users": 3}
    decision, _ = decide(alice, TOOLS.all()["write_file"], {"path": "x", "content": "y"})
    assert decision.outcome == "confirm"


@pytest.mark.parametrize(("place", "outcome"), [("safe_read", "auto"), ("auto_system", "auto")])
def test_opening_is_asked_about_again(place: str, outcome: str, root: Client) -> None:
    fields = chosen(root.get(reverse(MATRIX)), **{place: outcome})
    before = matrix_now()
    assert post(root, fields, "review").context["opens"] is True
    again = post(root, fields, "save")
    assert again.status_code == 200
    assert "Nothing was saved" in again.text
    assert (matrix_now(), changed_cells()) == (before, [])
    assert post(root, fields, "save", confirm="open").status_code == 302
    assert matrix_now() != before
    assert len(changed_cells()) == 1


def test_going_back_keeps_what_was_chosen(root: Client) -> None:
    fields = chosen(root.get(reverse(MATRIX)), auto_write="deny")
    page = post(root, fields, "back")
    assert chosen(page)["cell-auto-write"] == "deny"
    assert matrix_now()["auto", "write"] == "auto"


def test_a_matrix_that_changed_meanwhile_is_not_overwritten(root: Client, admin_user: Any) -> None:
    fields = chosen(root.get(reverse(MATRIX)), auto_write="confirm")
    matrix_set({("safe", "read"): "deny"}, admin_user)
    response = root.post(
        reverse(MATRIX), {**fields, "step": "save", "confirm": "open"}, follow=True
    )
    assert "Somebody changed the matrix meanwhile" in response.text
    assert matrix_now()["safe", "read"] == "deny"
    assert matrix_now()["auto", "write"] == "auto"


@pytest.mark.parametrize("broken", [{"cell-auto-write": "sure"}, {"cell-auto-write": ""}, {}])
def test_a_broken_form_changes_nothing(broken: dict[str, str], root: Client) -> None:
    fields = chosen(root.get(reverse(MATRIX)), safe_read="deny")
    fields = {**fields, **broken} if broken else {"seen": fields["seen"]}
    for step in ("review", "save"):
        assert post(root, fields, step, confirm="open").status_code == 302
    assert matrix_now()["safe", "read"] == "confirm"
    assert changed_cells() == []


def test_a_save_without_a_mark_of_what_was_seen_is_refused(root: Client) -> None:
    fields = chosen(root.get(reverse(MATRIX)), safe_read="deny")
    post(root, {**fields, "seen": ""}, "save")
    assert matrix_now()["safe", "read"] == "confirm"


def test_plain_administrators_do_not_save_the_matrix(staff: Client, root: Client) -> None:
    fields = chosen(root.get(reverse(MATRIX)), safe_read="deny")
    assert post(staff, fields, "save").status_code == 403
    assert matrix_now()["safe", "read"] == "confirm"


def test_the_service_sets_all_cells_or_none(admin_user: Any) -> None:
    with pytest.raises(UserFacing, match="'sure' is not one of auto, confirm, deny"):
        matrix_set({("safe", "read"): "deny", ("auto", "read"): "sure"}, admin_user)
    with pytest.raises(UserFacing, match="no cell 'root' x 'read'"):
        matrix_set({("safe", "read"): "deny", ("root", "read"): "deny"}, admin_user)
    with pytest.raises(Conflict):
        matrix_set({("safe", "read"): "deny"}, admin_user, seen="0" * 16)
    assert matrix_now()["safe", "read"] == "confirm"
    done = matrix_set({("safe", "read"): "deny"}, admin_user, seen=matrix_seen(matrix_now()))
    assert [(c.level, c.category, c.old, c.new, c.opens) for c in done] == [
        ("safe", "read", "confirm", "deny", False)
    ]


@pytest.mark.parametrize("stored", [None, "sure"])
def test_a_missing_or_unknown_cell_counts_as_refusing(stored: str | None, db: None) -> None:
    cell = MatrixCell.objects.filter(level="safe", category="read")
    cell.update(outcome=stored) if stored else cell.delete()
    (change,) = matrix_changes({("safe", "read"): "confirm"})
    assert change.opens is True
    matrix_set({("safe", "read"): "confirm"}, "system")
    assert matrix_now()["safe", "read"] == "confirm"


def test_people_are_counted_by_the_level_that_they_have(db: None) -> None:
    low, high = Group.objects.create(name="low"), Group.objects.create(name="high")
    GroupLevel.objects.create(group=low, level="auto")
    GroupLevel.objects.create(group=high, level="full-access")

    def person(email: str, *groups: Group, level: str = "", active: bool = True) -> None:
        user = User.objects.create_user(f"{email}@example.com", level=level, is_active=active)
        user.groups.set(groups)

    person("nothing")
    person("both", low, high)
    person("low", low)
    person("own", low, high, level="safe")
    person("off", high, active=False)
    person("odd", high, level="root")
    assert users_by_level() == {"safe": 3, "auto": 1, "full-access": 1}


def rule(client: Client, **fields: Any) -> Any:
    asked = {"scope": "everyone", "tool": "shell", "outcome": "deny", **fields}
    return client.post(reverse("admin:tools_toolrule_add"), asked)


def test_a_rule_is_set_audited_and_bites(root: Client, alice: Any) -> None:
    shell, command = TOOLS.all()["shell"], {"command": "touch x"}
    assert rule(root, scope="user", user=str(alice.pk), note="not you").status_code == 302
    decision, _ = decide(alice, shell, command)
    assert (decision.outcome, decision.why) == ("deny", "not you")
    entry = AuditEntry.objects.get(action="rule.created")
    assert entry.target == "user:alice@example.com: shell deny"
    assert entry.data["outcome"] == {"from": None, "to": "deny"}
    url = reverse("admin:tools_toolrule_delete", args=[ToolRule.objects.get().pk])
    root.post(url, {"post": "yes"})
    assert decide(alice, shell, command)[0].outcome == "confirm"
    assert AuditEntry.objects.filter(action="rule.deleted").count() == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"tool": "rm -rf"},
        {"tool": ""},
        {"outcome": "sure"},
        {"scope": "user"},
        {"argument": "command"},
        {"pattern": "git *"},
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(fields: dict[str, str], root: Client) -> None:
    assert rule(root, **fields).status_code == 200
    assert not ToolRule.objects.exists()


def test_a_rule_is_not_made_twice(root: Client) -> None:
    rule(root)
    assert "already a rule with this condition" in rule(root, outcome="auto").text
    assert ToolRule.objects.get().outcome == "deny"


def test_every_tool_is_listed_and_switched(root: Client, alice: Any) -> None:
    page = root.get(reverse(SWITCHES))
    assert [tool["name"] for tool in page.context["tools"]] == sorted(TOOLS.all())
    asked = {"tool": "shell", "enabled": "off", "note": "under repair"}
    assert root.post(reverse(SWITCHES), asked).status_code == 302
    decision, _ = decide(alice, TOOLS.all()["shell"], {"command": "ls"})
    assert (decision.outcome, decision.why) == ("deny", "under repair")
    found = root.get(reverse(SWITCHES), {"q": "shell"}).context["tools"]
    assert ("shell", False, "under repair") in [(t["name"], t["enabled"], t["note"]) for t in found]
    root.post(reverse(SWITCHES), {"tool": "shell", "enabled": "on"})
    assert ToolSwitch.objects.get().enabled is True
    actions = AuditEntry.objects.filter(target="shell").order_by("id").values_list("action", "via")
    assert list(actions) == [("tool.switched_off", "admin"), ("tool.switched_on", "admin")]


def test_an_unknown_tool_is_not_switched(root: Client, admin_user: Any) -> None:
    page = root.post(reverse(SWITCHES), {"tool": "nonsense", "enabled": "off"}, follow=True)
    assert "There is no tool named" in page.text
    with pytest.raises(NotFound):
        switch_set(tool="nonsense", enabled=False, actor=admin_user)
    assert not ToolSwitch.objects.exists()


def test_a_switch_of_a_tool_that_went_away_stays_reachable(root: Client) -> None:
    ToolSwitch.objects.create(tool="gone", enabled=False)
    (tool,) = root.get(reverse(SWITCHES), {"q": "gone"}).context["tools"]
    assert (tool["name"], tool["enabled"]) == ("gone", False)
    root.post(reverse(SWITCHES), {"tool": "gone", "enabled": "on"})
    assert ToolSwitch.objects.get().enabled is True


def explain(client: Client, **fields: str) -> Any:
    asked = {"user": "alice@example.com", "tool": "shell", "door": "web", "mode": "code", **fields}
    return client.post(reverse("admin:tools_explain"), asked)


@pytest.mark.parametrize(
    ("fields", "outcome", "steps"),
    [
        ({"arguments": '{"command": "touch x"}'}, "confirm", ["matrix"]),
        ({"arguments": '{"command": "touch x"}', "mode": "plan"}, "deny", ["matrix", "mode"]),
        (
            {"arguments": '{"command": "touch x"}', "door": "schedule"},
            "deny",
            ["matrix", "unattended"],
        ),
        ({"tool": "read_file", "arguments": '{"path": "a.txt"}'}, "auto", ["matrix"]),
        ({"tool": "read_file", "arguments": '{"pth": 1}'}, "deny", ["arguments"]),
    ],
)
def test_a_decision_is_explained_step_by_step(
    fields: dict[str, str], outcome: str, steps: list[str], root: Client, alice: Any
) -> None:
    found = explain(root, **fields).context["found"]
    assert found["outcome"] == outcome
    assert [step for step, *_ in found["trace"]] == steps


def test_a_disabled_user_may_nothing(root: Client, alice: Any) -> None:
    alice.is_active = False
    alice.save()
    found = explain(root, arguments='{"command": "ls"}').context["found"]
    assert (found["outcome"], found["trace"][0][0]) == ("deny", "user")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"user": "nobody@example.com"}, "no user with this address"),
        ({"tool": "nonsense"}, "not one of the available choices"),
        ({"arguments": "{"}, "not JSON"),
        ({"mode": "god"}, "not one of the available choices"),
    ],
)
def test_a_bad_question_is_explained(
    fields: dict[str, str], words: str, root: Client, alice: Any
) -> None:
    response = explain(root, **fields)
    assert response.status_code == 200
    assert words in response.text
    assert response.context["found"] is None


def test_explaining_changes_nothing_and_is_linked_from_the_user(root: Client, alice: Any) -> None:
    before = AuditEntry.objects.count()
    link = reverse("admin:accounts_user_explain", args=[alice.pk])
    page = root.get(link, follow=True)
    assert page.context["form"]["user"].value() == alice.email
    explain(root, arguments='{"command": "touch x"}')
    assert AuditEntry.objects.count() == before
