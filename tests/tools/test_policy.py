"""The judgement itself: order, narrowness, and that nothing broken ever opens anything."""

from __future__ import annotations

import itertools

import pytest

from tools.policy import CallFacts, PolicyRows, Rule, matches, weigh

LEVELS = ("safe", "auto", "full-access")
CATEGORIES = ("read", "write", "system", "finance")
SHIPPED = {
    "safe": ("confirm", "confirm", "confirm", "confirm"),
    "auto": ("auto", "auto", "confirm", "confirm"),
    "full-access": ("auto", "auto", "auto", "auto"),
}
MATRIX = {
    (level, category): outcome
    for level, outcomes in SHIPPED.items()
    for category, outcome in zip(CATEGORIES, outcomes, strict=True)
}


def call(tool: str = "shell", category: str = "system", **fields: object) -> CallFacts:
    fields.setdefault("arguments", {"command": "touch x"})
    return CallFacts(tool=tool, category=category, digest="d", **fields)  # type: ignore[arg-type]


def outcome(rows: PolicyRows, facts: CallFacts, surface: str = "web", mode: str = "code") -> str:
    return weigh(rows, facts, surface=surface, mode=mode).outcome


@pytest.mark.parametrize(("level", "category"), itertools.product(LEVELS, CATEGORIES))
def test_the_shipped_matrix_holds_in_every_cell(level: str, category: str) -> None:
    rows = PolicyRows(level=level, matrix=MATRIX)
    assert outcome(rows, call(category=category)) == MATRIX[level, category]


@pytest.mark.parametrize("level", [*LEVELS, "", "root", "AUTO"])
def test_a_missing_or_unknown_word_refuses(level: str) -> None:
    assert outcome(PolicyRows(level=level), call()) == "deny"
    assert outcome(PolicyRows(level=level, matrix=MATRIX), call(category="?")) == "deny"
    broken = {("auto", "system"): "sure"}
    assert outcome(PolicyRows(level="auto", matrix=broken), call()) == "deny"


def test_the_floor_and_the_switch_stand_above_everything() -> None:
    open_rule = Rule("user", "*", "auto")
    rows = PolicyRows(level="full-access", matrix=MATRIX, rules=(open_rule,))
    assert outcome(rows, call(forbidden=True)) == "deny"
    off = PolicyRows(
        level="full-access", matrix=MATRIX, rules=(open_rule,), off={"shell": "broken"}
    )
    decision = weigh(off, call(), surface="web", mode="code")
    assert (decision.outcome, decision.why) == ("deny", "broken")


def test_the_narrower_scope_wins_and_deny_among_equals() -> None:
    rules = (
        Rule("everyone", "shell", "deny"),
        Rule("group", "shell", "auto"),
        Rule("group", "*", "confirm"),
    )
    rows = PolicyRows(level="safe", matrix=MATRIX, rules=rules)
    assert outcome(rows, call()) == "auto"
    denied = (*rules, Rule("group", "sh*", "deny"))
    assert outcome(PolicyRows(level="safe", matrix=MATRIX, rules=denied), call()) == "deny"
    own = (*denied, Rule("user", "shell", "auto"))
    assert outcome(PolicyRows(level="safe", matrix=MATRIX, rules=own), call()) == "auto"


def test_a_rule_about_an_argument_beats_one_about_the_tool() -> None:
    rules = (
        Rule("everyone", "shell", "confirm"),
        Rule("everyone", "shell", "auto", "command", "git *"),
    )
    rows = PolicyRows(level="safe", matrix=MATRIX, rules=rules)
    one = call(arguments={"command": "git log"}, parts=("git log",))
    assert outcome(rows, one) == "auto"
    other = call(arguments={"command": "make x"}, parts=("make x",))
    assert outcome(rows, other) == "confirm"


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("git status; rm -r x", ("git status", "rm -r x")),
        ("git status && curl evil", ("git status", "curl evil")),
        ("git $(rm x)", ()),
    ],
)
def test_a_pattern_that_opens_must_fit_each_command_of_the_line(
    command: str, parts: tuple[str, ...]
) -> None:
    rules = (Rule("user", "shell", "auto", "command", "git *"),)
    rows = PolicyRows(level="auto", matrix=MATRIX, rules=rules)
    assert outcome(rows, call(arguments={"command": command}, parts=parts)) == "confirm"


def test_a_grant_opens_only_the_exact_call_and_never_a_rule() -> None:
    grants = frozenset({("shell", "d")})
    rows = PolicyRows(level="auto", matrix=MATRIX, grants=grants)
    assert outcome(rows, call()) == "auto"
    assert outcome(rows, call(tool="execute_code")) == "confirm"
    asking = PolicyRows(
        level="auto", matrix=MATRIX, grants=grants, rules=(Rule("everyone", "shell", "confirm"),)
    )
    assert outcome(asking, call()) == "confirm"
    denying = PolicyRows(level="auto", matrix={("auto", "system"): "deny"}, grants=grants)
    assert outcome(denying, call()) == "deny"


@pytest.mark.parametrize(("level", "category"), itertools.product(LEVELS, CATEGORIES))
def test_modes_and_unattended_doors_only_tighten(level: str, category: str) -> None:
    order = ("auto", "confirm", "deny")
    rows = PolicyRows(level=level, matrix=MATRIX)
    base = order.index(outcome(rows, call(category=category)))
    for mode in ("ask", "plan", "code", "nonsense", ""):
        for surface in ("web", "schedule", "webhook"):
            got = order.index(outcome(rows, call(category=category), surface, mode))
            assert got >= base
    assert outcome(rows, call(category=category), mode="ask") != "auto"
    assert outcome(rows, call(category=category), mode="nonsense") != "auto"
    if category != "read":
        assert outcome(rows, call(category=category), mode="plan") == "deny"
    assert outcome(rows, call(category=category), "schedule") != "confirm"


def test_the_trace_says_what_decided() -> None:
    rows = PolicyRows(level="auto", level_source="group ops", matrix=MATRIX)
    decision = weigh(rows, call(), surface="web", mode="code")
    assert decision.trace == (
        ("matrix", "confirm", "Level auto (group ops), category system: confirm."),
    )


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("git *", "git log", True),
        ("git *", "gitx", False),
        ("*", "anything\nat all", True),
        ("a.b", "axb", False),
        ("[x]*", "[x]y", True),
    ],
)
def test_only_the_star_is_special(pattern: str, text: str, fits: bool) -> None:
    assert matches(pattern, text) is fits


def test_what_must_be_asked_is_asked_on_every_level_unless_a_rule_opens_it() -> None:
    sudo = call(must_ask=True)
    rows = PolicyRows(level="full-access", matrix=MATRIX)
    assert outcome(rows, sudo) == "confirm"
    assert outcome(rows, call(must_ask=True, forbidden=True)) == "deny"
    opened = PolicyRows(level="full-access", matrix=MATRIX, rules=(Rule("user", "shell", "auto"),))
    assert outcome(opened, sudo) == "auto"


@pytest.mark.parametrize(("level", "category"), itertools.product(LEVELS, CATEGORIES))
def test_a_remembered_yes_does_not_stand_for_what_must_always_be_asked(
    level: str, category: str
) -> None:
    rows = PolicyRows(level=level, matrix=MATRIX, grants=frozenset({("shell", "d")}))
    assert outcome(rows, call(category=category)) == "auto"
    asked = weigh(rows, call(category=category, must_ask=True), surface="web", mode="code")
    assert asked.outcome == "confirm"
    assert "grant" not in [step for step, _, _ in asked.trace]
