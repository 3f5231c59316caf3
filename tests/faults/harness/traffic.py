"""Concurrent traffic, one thread per kind.

It continues through every fault, repeats unanswered requests, and notes acknowledged ones.
"""

import random
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from subprocess import SubprocessError

from tests.faults.harness.browser import Answer, Broken, Browser
from tests.faults.harness.content import Content, log_in
from tests.faults.harness.ledger import Ledger, Picture
from tests.faults.harness.pictures import png
from tests.support.running import Site

# Seconds for which a request is repeated before it is given up. A response must come much earlier.
INSISTING = 120.0
PAUSE = 0.3


class Unanswered(Exception):
    """The run ended before a response came."""


class Traffic(threading.Thread, ABC):
    """One kind of traffic. `over` ends it after the current round."""

    kind = ""
    pace = 0.2  # seconds between two rounds

    def __init__(self, site: Site, content: Content, ledger: Ledger, over: threading.Event, seed: int) -> None:
        super().__init__(daemon=True)
        self.site, self.content, self.ledger, self.over = site, content, ledger, over
        self.dice = random.Random(seed)
        self.browser = Browser(site.port, ledger)
        self.is_ready = threading.Event()

    def run(self) -> None:
        """Do rounds until the run is over. An error in a round fails the whole run."""
        try:
            self.begin()
            self.is_ready.set()
            while not self.over.is_set():
                self.round()
                self.over.wait(self.pace)
        except (Unanswered, AssertionError, KeyError, ValueError, OSError, TypeError, SubprocessError) as error:
            self.ledger.wrong.append(f"{self.kind}: {type(error).__name__}: {error}")
            self.is_ready.set()

    def begin(self) -> None:
        """Prepare the first round."""

    @abstractmethod
    def round(self) -> None:
        """Do one thing, and repeat it until it is acknowledged."""

    def insist(self, ask: Callable[[], Answer], *, kept: Sequence[str] = ()) -> Answer:
        """Repeat a request until the response is no failure of the site. Raises Unanswered.

        The page of a failure must be readable: 503, Retry-After, and the texts `kept` of a sent form.
        """
        until = time.monotonic() + INSISTING
        while time.monotonic() < until:
            try:
                answer = ask()
            except Broken:
                time.sleep(PAUSE)
                continue
            if answer.status < 500:
                return answer
            self._check_failure(answer, kept)
            time.sleep(PAUSE)
        raise Unanswered(f"no answer within {INSISTING:.0f} s")

    def page(self, path: str) -> Answer:
        """Return a page, however long the site is down."""
        answer = self.insist(lambda: self.browser.get(path, self.kind))
        if answer.status != 200:
            self.ledger.wrong.append(f"{self.kind}: {path} answered {answer.status} ({answer.location})")
        return answer

    def refused(self, what: str, answer: Answer) -> None:
        """Note an unexpected response."""
        self.ledger.wrong.append(
            f"{self.kind}: {what} answered {answer.status} {answer.location} to request"
            f" {answer.headers.get('x-request-id')}: {answer.body[-300:]!r}"
        )

    def _check_failure(self, answer: Answer, kept: Sequence[str]) -> None:
        if answer.status != 503 or not answer.headers.get("retry-after"):
            self.refused("a failure that is no 503 with Retry-After", answer)
        if "x-request-id" not in answer.headers:
            # The cache's own page, because the site's process died. The text is still in the browser's form.
            self.ledger.did("answers of the cache's own")
            return
        for form in answer.forms() if kept else []:
            given = [value for _name, value in form.fields]
            if all(any(text in value for value in given) for text in kept):
                self.ledger.did("forms given back with their text")
                return
        if kept:
            self.refused(f"a failure that lost {kept}", answer)


class Editor(Traffic):
    """Edits one paragraph of a page, while another editor edits another one, with the form's nonce."""

    kind = "saves"

    def __init__(self, *args: object, who: str) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.who, self.number = who, 0

    def begin(self) -> None:
        log_in(self.browser, self.site, self.insist)

    def round(self) -> None:
        path = f"/admin/nodes/node/{self.content.page}/change/"
        form = self.page(path).form("node_form")
        assert form is not None, "an editor got no form"
        self.number += 1
        mine = f"{self.who} {self.number}"
        text, changed = re.subn(rf"^{self.who} \d+\r?$", mine, form["text"], flags=re.MULTILINE)
        if changed != 1:
            self.ledger.wrong.append(f"saves: the paragraph of {self.who} is there {changed} times")
        key = (self.content.page, self.who)
        self.ledger.typed[key] = self.number
        data = form.filled(text=text, _continue="")
        answer = self.insist(lambda: self.browser.post(path, data, self.kind), kept=[mine])
        if answer.status != 302:
            return self.refused(mine, answer)
        self.ledger.acknowledge(self.who, self.number)
        self.ledger.saved[key].append(self.number)
        self.ledger.did(self.kind)
        return None


class Tagger(Traffic):
    """Adds a tag to the page from the list, and removes an older one."""

    kind = "tags"
    number = 0

    def begin(self) -> None:
        log_in(self.browser, self.site, self.insist)

    def round(self) -> None:
        self.number += 1
        self._change("tag", f"tag-{self.number}")
        if self.number > 5:
            self._change("untag", f"tag-{self.number - 5}")

    def _change(self, action: str, tag: str) -> None:
        page, path = self.content.page, "/admin/nodes/node/"
        form = self.page(path).form(having=f"nonce-{page}")
        assert form is not None, "the list shows no form"
        data = [("csrfmiddlewaretoken", form["csrfmiddlewaretoken"]), ("action", action), ("tags", tag)]
        data += [("chosen", page), (f"nonce-{page}", form[f"nonce-{page}"])]
        answer = self.insist(lambda: self.browser.post(path, data, self.kind))
        if answer.status != 302:
            return self.refused(f"{action} {tag}", answer)
        self.ledger.tags[page].append((tag, action == "tag"))
        self.ledger.did(self.kind)
        return None


class Photographer(Traffic):
    """Uploads pictures and replaces some. An upload has no token, so an unanswered one is not repeated."""

    kind = "uploads"
    pace = 0.5
    TAG = "by-harness"

    def begin(self) -> None:
        log_in(self.browser, self.site, self.insist)
        self._mine: list[str] = []

    def round(self) -> None:
        if len(self._mine) > 2 and self.dice.random() < 0.5:
            self._replace(self.dice.choice(self._mine[-6:]))
        else:
            self._upload()

    def _upload(self) -> None:
        seed = self.dice.randrange(2**30)
        result = self._send(f"/admin/nodes/photo/upload/{self.content.gallery}/", "uploads", seed)
        if result is None:
            self.ledger.unanswered.append(seed)
            return
        self._mine.append(result)
        self.ledger.photos[result] = [Picture(seed, acknowledged=True)]
        self.ledger.did("uploads")

    def _replace(self, photo: str) -> None:
        # The form says which version of the photo it replaces.
        found = re.search(r"/replace/\?seen=\w+", self.page(f"/admin/nodes/photo/{photo}/change/").text)
        if found is None:
            self.ledger.wrong.append(f"{self.kind}: the page of photo {photo} has no form that replaces it")
            return
        seed = self.dice.randrange(2**30)
        # Noted first, because it may be stored without a response.
        self.ledger.photos[photo].append(Picture(seed, acknowledged=False))
        if self._send(f"/admin/nodes/photo/{photo}{found[0]}", "replaces", seed) is not None:
            self.ledger.photos[photo][-1] = Picture(seed, acknowledged=True)
            self.ledger.did("replaces")
        elif photo in self._mine:
            # Locked until its last upload counts as dead.
            self._mine.remove(photo)

    def _send(self, path: str, kind: str, seed: int) -> str | None:
        """Return the photo's id if the site acknowledged the picture, otherwise None."""
        data = [("alt", "Noise"), ("publish", "1"), ("tags", self.TAG)]
        files = {"files": (f"{seed}.png", png(seed))}
        headers = {"Accept": "application/json"}
        try:
            answer = self.browser.post(path, data, kind, files=files, headers=headers)
        except Broken:
            return None
        if answer.status >= 500:
            self._check_failure(answer, ())
            return None
        if answer.status == 200 and answer.json["results"][0]["ok"]:
            return str(answer.json["results"][0]["id"])
        if answer.status != 422:
            self.refused(f"picture {seed}", answer)
        return None


class Reader(Traffic):
    """Reads pages, a picture and a static file."""

    kind = "reads"
    pace = 0.1

    def begin(self) -> None:
        self._paths = ["/", self.content.path, self.content.discussed_path, self.content.gallery_path, "/search?q=ann"]

    def round(self) -> None:
        try:
            answer = self.browser.get(self.dice.choice(self._paths), self.kind)
        except Broken:
            return
        if answer.status == 200:
            self.ledger.did(self.kind)
        elif answer.status < 500:
            self.refused("a page", answer)
        else:
            self._check_failure(answer, ())


class Guest(Traffic):
    """Requests URLs that need no database, which must always respond at once."""

    kind = "reads without the database"
    pace = 0.1

    def begin(self) -> None:
        found = re.search(r'href="(/static/[^"]+\.css)"', self.page("/").text)
        assert found, "the home page has no style sheet"
        self._paths = ["/healthz", found[1]]

    def round(self) -> None:
        path = self.dice.choice(self._paths)
        try:
            answer = self.browser.get(path, self.kind)
        except Broken:
            return
        if answer.status != 200:
            self.refused(path, answer)
        self.ledger.did(self.kind)
