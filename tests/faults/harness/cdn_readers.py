"""Readers behind Varnish: whether each page came, was marked as old, and how far it was behind acknowledged changes.

Other readers ask the web servers directly, so that the ages of their pages are those of the page cache alone.
"""

import re
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from marginalia.local.mongod import Mongod
from tests.faults.harness.browser import Answer, Broken, Browser
from tests.faults.harness.cdn_faults import OF_THE_CACHE
from tests.faults.harness.content import PARAGRAPHS, Content, log_in, make, make_node
from tests.faults.harness.ledger import Ledger
from tests.faults.harness.traffic import Traffic
from tests.support.running import Site

ANSWERED, OLDEST = 0.999, 1.0
# In the ledger, pages that a reader already had are counted under the name of the reader's pages and this suffix.
UNCHANGED = ", unchanged"
# Numbered things on pages: paragraphs of two editors, and the newest comment of one visitor.
NUMBERS = {
    "ann": re.compile(r"\bann (\d+)"),
    "bob": re.compile(r"\bbob (\d+)"),
    "announced": re.compile(r"Comment (\d+) by"),
}
WRITES = (
    "saves",
    "tags",
    "posts",
    "held posts",
    "uploads",
    "replaces",
    "decisions",
    "posts to short discussions",
    "announcements",
)


@dataclass(frozen=True)
class Page:
    """A page that a reader requested.

    `missing` is the time since which an acknowledged change is missing on it, or 0.
    """

    path: str
    began: float
    ended: float
    status: int
    is_marked: bool = False
    missing: float = 0.0

    @property
    def is_answered(self) -> bool:
        return 0 < self.status < 500

    @property
    def behind(self) -> float:
        """Return the seconds that the page was behind."""
        return self.began - self.missing if self.missing else 0.0


def prepared(site: Site, ledger: Ledger) -> Content:
    """Create the content of all trials, with a post instead of its page.

    Editors edit it and a visitor comments on it, in a blog of its own, because the feed of a busy one would soon omit
    it.
    """
    content = make(site, ledger)
    editor = Browser(site.port, ledger)
    log_in(editor, site, lambda ask: ask())

    def node(type_: str, title: str, **fields: str) -> str:
        return make_node(editor, lambda ask: ask(), type_, title, **fields)

    desk = node("blog", "Desk")
    made = node("blog-entry", "Watched", section=desk, text=PARAGRAPHS, comments="open")
    # Readers look for the newest comment, and a long threaded discussion is shown in no other order.
    form = editor.get(f"/comments/form/nodes.node/{made}").form(having="token")
    assert form is not None, "no form for a comment"
    assert editor.post(form.action, form.filled(text="The first word."), "posts").status == 302
    done = site.manage("convert_comments", "--order", "oldest", "--discussion", f"nodes.node:{made}")
    assert done.returncode == 0, done.stderr
    return replace(content, page=made, path="/desk/watched")


class CacheReader(Traffic):
    """Reads pages that Varnish caches, some that it does not, and photos.

    Like a browser, it sends half of its requests with the entity tag of the page that it read last.
    """

    kind = "pages from the cache"
    pace = 0.1

    def __init__(self, site: Site, content: Content, ledger: Ledger, over: threading.Event, seed: int) -> None:
        super().__init__(site, content, ledger, over, seed)
        self.pages: list[Page] = []
        self._photos: list[str] = []
        # The last response for each path.
        self._read: dict[str, Answer] = {}

    def round(self) -> None:
        # Pages with paragraphs and comments, pages with paragraphs, and other pages.
        path, shown = self.dice.choice(
            [
                (f"{self.content.path}?comments=newest", tuple(NUMBERS)),
                (f"{self.content.path}?comments=newest", tuple(NUMBERS)),
                ("/desk/feed/atom", ("ann", "bob")),
                (f"/api/v1/nodes/{self.content.page}", ("ann", "bob")),
                ("/blog", ()),
                ("/", ()),
                (self.content.gallery_path, ()),
                *((path, ()) for path in self._photos[:1]),
            ]
        )
        read = self._read.get(path) if self.dice.random() < 0.5 else None
        began = time.monotonic()
        try:
            answer = self.browser.get(path, self.kind, {"If-None-Match": read.headers["etag"]} if read else {})
        except Broken:
            self.pages.append(Page(path, began, time.monotonic(), 0))
            return
        is_marked = "110" in answer.headers.get("warning", "")
        if read and answer.status == 304:
            self.ledger.did(self.kind + UNCHANGED)
            answer = read
        elif answer.status == 200 and "etag" in answer.headers:
            self._read[path] = answer
        missing = self._missing(answer.text, shown, began) if answer.status == 200 and shown else 0.0
        self.pages.append(Page(path, began, time.monotonic(), answer.status, is_marked, missing))
        if answer.status == 200:
            self.ledger.did(self.kind)
        if path == self.content.gallery_path and answer.status == 200:
            self._photos = (
                self.dice.sample(found, 1) if (found := re.findall(r'<img[^>]* src="(/[^"]+)"', answer.text)) else []
            )
        elif answer.status < 500 and answer.status != 200 and path not in self._photos:
            self.refused(path, answer)

    def _missing(self, text: str, shown: Sequence[str], began: float) -> float:
        """Return the time of the first change, acknowledged before the request, that the page does not show, or 0."""
        since = []
        for what in shown:
            acknowledged = self.ledger.acknowledged[what]
            number = max(map(int, NUMBERS[what].findall(text)), default=0)
            last = max(list(acknowledged), default=0)
            since += [at for one in range(number + 1, last + 1) if (at := acknowledged.get(one)) and at < began][:1]
        return min(since, default=0.0)


class WebReader(CacheReader):
    """Reads the same pages from a web server, without Varnish in between. They can fail while that server is down."""

    kind = "pages from a web server"

    def __init__(
        self, site: Site, content: Content, ledger: Ledger, over: threading.Event, seed: int, *, port: int
    ) -> None:
        super().__init__(site, content, ledger, over, seed)
        self.browser = Browser(port, ledger)


class Witness(threading.Thread):
    """Records when one of the members accepts writes."""

    PACE = 0.1
    PATIENCE_MS = 300

    def __init__(self, members: Sequence[Mongod], over: threading.Event) -> None:
        super().__init__(daemon=True)
        self.over = over
        self.clients = [MongoClient(one.uri_direct, timeoutMS=self.PATIENCE_MS) for one in members]
        # Periods in which no member did.
        self.gaps: list[tuple[float, float]] = []

    def run(self) -> None:
        last = time.monotonic()
        while not self.over.wait(self.PACE):
            if any(self._takes_writes(client) for client in self.clients):
                if time.monotonic() - last > 1.0:
                    self.gaps.append((last, time.monotonic()))
                last = time.monotonic()
        for client in self.clients:
            client.close()

    def _takes_writes(self, client: MongoClient[dict[str, object]]) -> bool:
        try:
            return bool(client.admin.command("hello").get("isWritablePrimary"))
        except PyMongoError:
            return False

    def with_a_primary(self, began: float, ended: float) -> float:
        """Return for how many of these seconds there was a primary."""
        without = sum(max(0.0, min(ended, after) - max(began, before)) for before, after in self.gaps)
        return ended - began - without


class Findings:
    """The results of all readers."""

    def __init__(self, readers: Sequence[CacheReader], witness: Witness, ledger: Ledger) -> None:
        self.direct_pages = [page for reader in readers if isinstance(reader, WebReader) for page in reader.pages]
        self.pages = [page for reader in readers if not isinstance(reader, WebReader) for page in reader.pages]
        self.witness, self.ledger = witness, ledger
        self.lost = ledger.wrong[ledger.before_audit :]
        self.windows = [window for window in ledger.windows if window.fault in OF_THE_CACHE]

    def behind(self, page: Page) -> float:
        """Return the seconds for which a page was behind while there was a primary."""
        return self.witness.with_a_primary(page.missing, page.began) if page.missing else 0.0

    def unmarked(self, pages: Sequence[Page]) -> list[Page]:
        """Return the pages that were behind without a mark, the oldest first."""
        return sorted((page for page in pages if page.missing and not page.is_marked), key=self.behind, reverse=True)

    def excused(self, page: Page) -> bool:
        """Return whether the only Varnish was down."""
        return any(window.began <= page.ended and page.began <= window.ended for window in self.windows)

    def availability(self, *, excusing: bool) -> float:
        pages = [page for page in self.pages if not (excusing and self.excused(page))]
        return sum(page.is_answered for page in pages) / max(1, len(pages))

    def wrong(self) -> list[str]:
        """Return the errors."""
        found = []
        if (answered := self.availability(excusing=True)) < ANSWERED:
            failed = [page for page in self.pages if not page.is_answered and not self.excused(page)]
            names = Counter(f"{page.status or 'no answer'} during {self._during(page)}" for page in failed)
            found.append(f"of readers' pages {answered:.3%} were answered: {dict(names)}")
        for place, pages in (("", self.pages), (" without Varnish", self.direct_pages)):
            if old := [page for page in self.unmarked(pages) if self.behind(page) > OLDEST]:
                # The oldest of each kind.
                worst, began = {(page.path, self._during(page)): page for page in reversed(old)}, pages[0].began
                told = [
                    f"{path} {self.behind(page):.2f} s, during {fault}, after {(page.began - began) / 60:.2f} minutes"
                    for (path, fault), page in worst.items()
                ]
                found.append(f"{len(old)} pages{place} were old and did not say so: {'; '.join(told)}")
        return found

    def _during(self, page: Page) -> str:
        names = [one.fault for one in self.ledger.windows if one.began <= page.ended and page.began <= one.ended]
        return ", ".join(names) or "peace"

    def report(self) -> list[str]:
        """Return lines about the pages that readers got."""
        marked = [page for page in self.pages if page.is_marked]
        faults = Counter(window.fault for window in self.ledger.windows)
        without = sum(after - before for before, after in self.witness.gaps)
        slowest = max((page.ended - page.began for page in self.pages), default=0.0)
        return [
            f"readers' requests: {len(self.pages)}, answered: {sum(page.is_answered for page in self.pages)}, "
            f"the slowest within {slowest:.1f} s",
            f"availability: {self.availability(excusing=False):.4%}, "
            f"but for restarts of Varnish: {self.availability(excusing=True):.4%}",
            f"pages marked as stale: {len(marked)}, the oldest {max((one.behind for one in marked), default=0.0):.2f} s behind",
            self._oldest("oldest page that was not marked", self.pages),
            self._oldest(f"the same for {len(self.direct_pages)} pages without Varnish", self.direct_pages),
            f"seconds without a primary: {without:.0f}",
            f"writes acknowledged: {sum(self.ledger.done[kind] for kind in WRITES)}, "
            f"lost, doubled or half there: {len(self.lost)}",
            *(f"fault: {name}: {count} times" for name, count in sorted(faults.items())),
        ]

    def _oldest(self, what: str, pages: Sequence[Page]) -> str:
        unmarked = self.unmarked(pages)
        behind = max(map(self.behind, unmarked), default=0.0)
        with_gaps = max((page.behind for page in unmarked), default=0.0)
        return f"{what}: {behind:.2f} s behind, {with_gaps:.2f} s with the time without a primary"
