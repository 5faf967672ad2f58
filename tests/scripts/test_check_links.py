"""The link check: what it takes for a link, an anchor and a fault."""

from __future__ import annotations

import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

import check_links  # noqa: E402


def test_good_links_pass(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# Runs & leases: `turn`\n\n## Runs\n\n## Runs\n\n## 审批\n")
    page = tmp_path / "a.md"
    page.write_text(
        "# A\n[b](b.md) [h](b.md#runs--leases-turn) [2](b.md#runs-1) [zh](b.md#审批) [me](#a)\n"
        "[web](https://example.org/x.md) [mail](mailto:a@example.org)\n"
        "`[code](no.md)`\n```\n[block](no.md)\n```\n"
    )
    assert check_links.broken(page) == []


def test_every_kind_of_fault_is_named(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("```\n# not a heading\n```\n")
    page = tmp_path / "a.md"
    page.write_text("[x](gone.md) ![y](pics/gone.png) [z](b.md#not-a-heading) [me](#nowhere)\n")
    assert [line.partition(": ")[2] for line in check_links.broken(page)] == [
        "gone.md: there is no such file",
        "pics/gone.png: there is no such file",
        "b.md#not-a-heading: there is no such heading",
        "#nowhere: there is no such heading",
    ]


def test_the_papers_of_this_tree_lead_somewhere() -> None:
    assert check_links.main() == 0
