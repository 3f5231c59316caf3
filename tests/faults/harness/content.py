"""The pages of the traffic, created in the admin like any others."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from tests.faults.harness.browser import Answer, Browser
from tests.faults.harness.ledger import Ledger
from tests.support.running import Site

Insist = Callable[[Callable[[], Answer]], Answer]
# One by one, because more concurrent attempts than allowed wrong ones would be refused.
_LOGGING_IN = threading.Lock()
PARAGRAPHS = "ann 0\n\nA paragraph that nobody touches.\n\nbob 0\n\nAnother one."


@dataclass(frozen=True)
class Content:
    """Ids of nodes, and their public paths."""

    page: str
    path: str
    blog: str
    discussed: str
    discussed_path: str
    moderated: str
    gallery: str
    gallery_path: str


def log_in(browser: Browser, site: Site, insist: Insist) -> None:
    """Log the browser in as the first editor."""
    path = "/admin/login/"
    token = insist(lambda: browser.get(path)).form(having="csrfmiddlewaretoken")
    assert token is not None
    password = (site.var / "editor-password").read_text().strip()
    data = token.filled(username="editor", password=password, next="/admin/")
    with _LOGGING_IN:
        answer = insist(lambda: browser.post(path, data, "log-ins"))
    assert answer.status == 302, f"the log-in answered {answer.status}"


def make_node(browser: Browser, insist: Insist, type_: str, title: str, **fields: str) -> str:
    """Create a node in the admin, publish it, and return its id."""
    path = f"/admin/nodes/node/add/?type={type_}"
    form = insist(lambda: browser.get(path)).form("node_form")
    assert form is not None, "no form for a node"
    data = form.filled(title=title, slug=title.lower(), _publish="", **fields)
    answer = insist(lambda: browser.post(path, data, "new nodes"))
    assert answer.status == 302, f"a new node answered {answer.status}: {answer.text}"
    return form["form"]


def make(site: Site, ledger: Ledger) -> Content:
    """Create a page, a blog with an open and a moderated discussion, and a gallery."""
    browser = Browser(site.port, ledger)

    def once(ask: Callable[[], Answer]) -> Answer:
        return ask()

    def node(type_: str, title: str, **fields: str) -> str:
        return make_node(browser, once, type_, title, **fields)

    log_in(browser, site, once)
    page = node("basic-page", "Shared", text=PARAGRAPHS)
    blog = node("blog", "Blog")
    discussed = node("blog-entry", "Discussed", section=blog, text="Say something.", comments="open")
    moderated = node("blog-entry", "Moderated", section=blog, text="Wait.", comments="hold-all")
    gallery = node("gallery", "Gallery")
    return Content(page, "/shared", blog, discussed, "/blog/discussed", moderated, gallery, "/gallery")
