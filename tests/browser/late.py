"""Responses that arrive later than the next keys are pressed."""

from playwright.sync_api import Page, Route


class LateResponse:
    """Hold back the page's next request for a URL, a glob of Playwright, until `arrive` is called."""

    def __init__(self, page: Page, url: str) -> None:
        self._page, self._url = page, url
        self._held: list[Route] = []
        page.route(url, self._hold)

    def type_key(self, key: str) -> None:
        """Press a key, and wait until the page has sent the request."""
        with self._page.expect_request(self._url):
            self._page.keyboard.press(key)

    def arrive(self) -> None:
        """Let the response through, and wait for it."""
        with self._page.expect_response(self._url):
            self._held.pop().continue_()

    def _hold(self, route: Route) -> None:
        self._held.append(route)
