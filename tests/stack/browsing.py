"""What a person does on the pages."""

from __future__ import annotations

import re

from playwright.sync_api import Page

from tests.fakes.portal import Portal


def say(page: Page, text: str) -> None:
    page.fill("#text", text)
    page.keyboard.press("Enter")


def start(page: Page, portal: Portal, text: str) -> None:
    """A new session with its first message."""
    page.goto(f"{portal.url}/")
    say(page, text)
    page.wait_for_url(re.compile("/s/"))
