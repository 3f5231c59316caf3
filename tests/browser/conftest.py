"""A real Chromium at a live server on the test database.

`browsing` makes pages, each in a context of its own (cookies, storage): one a person. A message on a page's console, a script
error or a breach of the Content-Security-Policy fails the test, unless it was expected: `page.expected.append("part of it")`.
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
from django.core.wsgi import get_wsgi_application
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.explained import bad_plans
from tests.browser.people import PASSWORD, Browsing
from tests.support import commands

# Drivers are sync: Django must not take Playwright's loop for its own.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """The test's own assertions say enough."""


@pytest.fixture(scope="session")
def server(django_db_setup, django_db_blocker) -> Iterator[str]:
    """The site, served by threads of this process on a free port of the loopback; its address without a slash at the end."""
    with django_db_blocker.unblock():
        served: WSGIServer = ThreadedWSGIServer(("127.0.0.1", 0), _Quiet)
        served.daemon_threads = True
        served.set_app(StaticFilesHandler(get_wsgi_application()))
        thread = Thread(target=served.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()
        served.server_close()
        thread.join()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One Chromium for all tests. Missing means failing."""
    # Without a window Chromium has half the work.
    path = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
    assert path, "The browser tests need Chromium: install it, or name it in CHROMIUM."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else [], env={**os.environ, "TZ": "UTC"}
        )
        yield browser
        browser.close()


class _OfServer(list):
    """Commands that the server's threads send: not those of the test itself."""

    def append(self, event: Any) -> None:
        if current_thread() is not main_thread():
            super().append(event)


@pytest.fixture
def browsing(mongo, server, chromium) -> Iterator[Browsing]:
    """Pages of one or more people: `page = browsing(user)`, `phone = browsing(viewport=PHONE)`.

    What the server asks the database for them is explained afterwards: see explained.py.
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
    """A stranger's page."""
    return browsing()


@pytest.fixture
def account(mongo) -> Callable[..., Any]:
    """Make an account that may log in to the admin: account("ann"), account("bob", groups=["Authors"])."""
    from django.contrib.auth.models import Group

    def make(name: str = "ann", groups: list[str] | None = None) -> Any:
        manager = get_user_model()._default_manager
        user = manager.create_user(name, f"{name}@example.org", PASSWORD, is_staff=True, is_superuser=not groups)
        user.groups.set(Group.objects.filter(name__in=groups or []))
        return user

    return make
