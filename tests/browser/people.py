"""People with browsers: their pages, the text they type, and the errors on their pages."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect

# Milliseconds after which a missing element fails the test. A busy machine may need long for a page.
PATIENCE = 60_000
expect.set_options(timeout=PATIENCE / 2)
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
PASSWORD = "browse-4-marginalia"

# The beginning of a script for `page.evaluate` that uses CodeMirror's view of the text.
VIEW = """const { EditorView } = await import("/static/vendor/codemirror/codemirror.js");
  const view = EditorView.findFromDOM(document.querySelector(".cm-editor"));"""


def _told(message: ConsoleMessage) -> str:
    return f"{message.text} ({message.location.get('url', '')})"


class Browsing:
    """A factory of pages that records the errors on them."""

    def __init__(self, browser: Browser, server: str) -> None:
        self.server, self._browser = server, browser
        self._contexts: list[BrowserContext] = []
        self._troubles: list[tuple[Page, str]] = []

    def __call__(self, user: Any = None, **options: Any) -> Page:
        """Return a page of a new person, who is logged in as `user` unless it is None.

        `options` are options of the browser context, such as viewport and locale.
        """
        options = {"base_url": self.server, "viewport": DESKTOP, "locale": "en-GB", **options}
        context = self._browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        self._contexts.append(context)
        if user is not None:
            self.log_in(context, user)
        return self.page(context)

    def page(self, context: BrowserContext) -> Page:
        """Return another page (a tab) of the same person."""
        page = context.new_page()
        page.expected = []
        page.on("console", lambda message: self._note(page, message.type, _told(message)))
        page.on("pageerror", lambda error: self._note(page, "error", str(error)))
        page.add_init_script(
            "document.addEventListener('securitypolicyviolation',"
            " e => console.error('CSP', e.violatedDirective, e.blockedURI, e.sourceFile, e.lineNumber))"
        )
        return page

    def log_in(self, context: BrowserContext, user: Any) -> None:
        """Log a person in as `user`."""
        client = Client()
        client.force_login(user)
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": self.server}])

    def _note(self, page: Page, type: str, text: str) -> None:
        if type in ("error", "warning") and "/favicon.ico" not in text:
            self._troubles.append((page, text))

    def close(self) -> list[str]:
        """Close every page, and return the unexpected errors."""
        for context in self._contexts:
            context.close()
        return [text for page, text in self._troubles if not any(part in text for part in page.expected)]


def write(page: Page, text: str) -> None:
    """Replace the text in a node's form, in the editor or, without scripts, in the textarea."""
    page.wait_for_load_state()
    editor = page.locator("#node_form .cm-editor")
    if editor.count() == 0:
        page.locator("#node_form textarea[name=text]").fill(text)
        return
    editor.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def drag_with_finger(page: Page, grip: Locator, target: Locator) -> Callable[[], None]:
    """Drag an element to the upper edge of another one with a finger. Return a function that lifts the finger."""
    touch = page.context.new_cdp_session(page)
    start, end = grip.bounding_box(), target.bounding_box()
    x, y = start["x"] + start["width"] / 2, start["y"] + start["height"] / 2

    def send(type: str, *points: dict[str, float]) -> None:
        touch.send("Input.dispatchTouchEvent", {"type": type, "touchPoints": points})

    send("touchStart", {"x": x, "y": y})
    for step in range(1, 6):
        send("touchMove", {"x": x, "y": y + (end["y"] + 3 - y) * step / 5})
    return lambda: send("touchEnd")


def menu(page: Page) -> None:
    """Open the menu of the bar above a node's form."""
    page.locator(".edit-form-menu > summary").click()
