"""A real Chromium with a live server on the test database.

`browsing` opens pages, each with its own context (cookies, storage), so each page is another person. A console
message, a script error or a violation of the Content-Security-Policy fails the test, unless the test expects it with
`page.expected.append("part of it")`.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from threading import Thread, current_thread, main_thread
from typing import Any
from wsgiref.simple_server import WSGIServer

import pytest
from django.contrib.auth import get_user_model
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from playwright.sync_api import Browser, Page, sync_playwright

from cms.wsgi import application
from tests.browser.axe import AXE
from tests.browser.explained import bad_plans
from tests.browser.people import PASSWORD, Browsing
from tests.support import commands

# The drivers are synchronous, so Django must not mistake Playwright's event loop for its own.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because the assertions of the test are enough."""


@pytest.fixture(scope="session")
def server(django_db_setup, django_db_blocker) -> Iterator[str]:
    """Serve the site with threads of this process on a free loopback port, and yield its URL without a trailing slash."""
    with django_db_blocker.unblock():
        served: WSGIServer = ThreadedWSGIServer(("127.0.0.1", 0), _Quiet)
        served.daemon_threads = True
        served.set_app(StaticFilesHandler(application))
        thread = Thread(target=served.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()
        served.server_close()
        thread.join()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Yield one Chromium for all tests. If it isn't installed, the tests fail."""
    # The headless shell, which has no windows, needs half the work.
    path = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
    assert path, "The browser tests need Chromium: install it, or name it in CHROMIUM."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else [], env={**os.environ, "TZ": "UTC"}
        )
        yield browser
        browser.close()


class _OfServer(list):
    """The commands that the server's threads send, without the commands of the test itself."""

    def append(self, event: Any) -> None:
        if current_thread() is not main_thread():
            super().append(event)


@pytest.fixture
def browsing(mongo, server, chromium) -> Iterator[Browsing]:
    """Open pages for one or more people: `page = browsing(user)`, `phone = browsing(viewport=PHONE)`.

    After the test, the plans of the commands that the server has sent are checked (explained.py).
    """
    people, sent = Browsing(chromium, server), _OfServer()
    log = commands.CommandLog(sent)
    commands.listen(log)
    try:
        yield people
    finally:
        troubles = people.close()
        commands.stop_listening(log)
    assert troubles == []
    assert bad_plans(mongo, sent) == []


@pytest.fixture
def page(browsing) -> Page:
    """Open the page of a person without an account."""
    return browsing()


@pytest.fixture
def account(mongo) -> Callable[..., Any]:
    """Return a function that creates accounts with access to the admin: account("ann"), account("bob", groups=["Authors"])."""
    from django.contrib.auth.models import Group

    def make(name: str = "ann", groups: list[str] | None = None) -> Any:
        manager = get_user_model()._default_manager
        user = manager.create_user(name, f"{name}@example.org", PASSWORD, is_staff=True, is_superuser=not groups)
        user.groups.set(Group.objects.filter(name__in=groups or []))
        return user

    return make


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core. A missing file fails the test."""
    assert AXE.exists(), "The tests need axe-core: `make checkers` installs it."
    return AXE.read_text(encoding="utf-8")
