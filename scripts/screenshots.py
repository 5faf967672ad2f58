"""Pictures of the pages for README and guides, in both themes: ``make screenshots``."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Page, sync_playwright  # noqa: E402

from tests.fakes.chromium import chromium_arguments, chromium_executable  # noqa: E402
from tests.fakes.planned_llm import planned_llm  # noqa: E402
from tests.fakes.portal import Portal  # noqa: E402
from tests.stack.plans import LOOK, message  # noqa: E402

IMAGES = ROOT / "docs" / "images"
ANSWER = "I looked at the workspace and made the file.\n\n```python\nprint('hello')\n```"
PAGES = {"approvals": "/approvals/", "settings": "/settings/", "matrix": "/admin/tools/matrixcell/"}


def main() -> None:
    executable = chromium_executable()
    if executable is None:
        sys.exit("Chromium is missing: scripts/install_chromium.sh installs it where it can.")
    IMAGES.mkdir(exist_ok=True)
    with (
        planned_llm() as (url, _),
        Portal(
            OPENAI_BASE_URL=url, HERMES_MODEL="planned", HERMES_APPROVAL_SECONDS="300"
        ) as portal,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=executable, args=list(chromium_arguments())
        )
        page = browser.new_page(viewport={"width": 1200, "height": 760})
        _log_in(page, portal)
        _talk(page, portal)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            _shoot(page, "chat", scheme)
        chat = page.url
        for name, path in PAGES.items():
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                page.goto(f"{portal.url}{path}")
                _shoot(page, name, scheme)
        page.set_viewport_size({"width": 390, "height": 760})
        page.goto(chat)
        _shoot(page, "phone", "dark")
        browser.close()


def _log_in(page: Page, portal: Portal) -> None:
    page.goto(portal.url)
    page.fill("input[name=login]", portal.admin_email)
    page.fill("input[name=password]", portal.admin_password)
    page.click("button[type=submit]")
    page.wait_for_selector("#text")


def _talk(page: Page, portal: Portal) -> None:
    """One answered message, and one that waits for a yes."""
    session = page.evaluate(
        """async () => {
          const headers = {"Content-Type": "application/json",
                           "X-CSRFToken": document.body.dataset.csrf};
          const body = JSON.stringify({title: "A first conversation"});
          const made = await fetch("/api/v1/sessions", {method: "POST", headers, body});
          return (await made.json()).id;
        }"""
    )
    page.goto(f"{portal.url}/s/{session}/")
    for text in (message([[LOOK]], ANSWER), "!mkdir -p reports && date > reports/today.txt"):
        page.fill("#text", text)
        page.keyboard.press("Enter")
        page.wait_for_timeout(2500)
    page.wait_for_selector("[data-approval]")


def _shoot(page: Page, name: str, scheme: str) -> None:
    page.wait_for_timeout(600)
    page.screenshot(path=IMAGES / f"{name}-{scheme}.png")


if __name__ == "__main__":
    main()
