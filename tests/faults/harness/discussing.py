"""Traffic on discussions: people post while operators convert them and they are promoted."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from tests.faults.harness import BOUND
from tests.faults.harness.browser import Answer, Browser, Form
from tests.faults.harness.content import log_in, make_node
from tests.faults.harness.traffic import Traffic


class Poster(Traffic):
    """Posts comments and replies. Every form is sent twice at once, and again until both copies got a response."""

    kind = "posts"
    # One in so many of its comments is a reply.
    REPLIES = 0.3

    def __init__(self, *args: object, target: str = "", held: bool = False) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.target, self.held = target, held
        self.kind = "held posts" if held else self.kind
        self._slugs: list[str] = []
        self._pool = ThreadPoolExecutor(2)
        self._number = 0

    def round(self) -> None:
        parent = self.dice.choice(self._slugs[-20:]) if self._slugs and self.dice.random() < self.REPLIES else ""
        answer = self.page(f"/comments/form/nodes.node/{self.target}{f'?parent={parent}' if parent else ''}")
        form = answer.form(having="token")
        assert form is not None, "no form for a comment"
        self._number += 1
        text = (
            f"Comment {self._number} by {self.name}, $literal, on {self.target}, long enough to be given back in a box."
        )
        self.ledger.written.add(text)
        data = form.filled(name=f"Visitor {self.name}", text=text, email="")
        told = list(self._pool.map(lambda _n: self._send(form, data, text), range(2)))
        if wrong := [one for one in told if one.status != 302]:
            return self.refused(text, wrong[0])
        self._note(text, {one.location for one in told}, is_reply=bool(parent))
        return None

    def _send(self, form: Form, data: list[tuple[str, str]], text: str) -> Answer:
        return self.insist(lambda: self.browser.post(form.action, data, self.kind), kept=[text])

    def _note(self, text: str, locations: set[str], *, is_reply: bool) -> None:
        if self.held:
            self.ledger.held[text] = self.target
        else:
            places = {location.partition("#c-")[2] for location in locations}
            if len(places) != 1 or "" in places:
                self.ledger.wrong.append(f"posts: one form led to {locations}")
            self.ledger.posted[text] = (self.target, places)
            # The URL of a reply contains only its last part, so replies go to top-level comments.
            if not is_reply:
                self._slugs += places
        self.ledger.did(self.kind)


class Announcer(Poster):
    """Posts to a page that readers compare with acknowledged comments: its newest comment is always one of the last."""

    kind = "announcements"
    REPLIES = 0.0

    def _note(self, text: str, locations: set[str], *, is_reply: bool) -> None:
        self.ledger.acknowledge("announced", self._number)
        super()._note(text, locations, is_reply=is_reply)


class Grower(Poster):
    """Posts to one discussion after another, each embedded at first, until it has outgrown that.

    If `meddled`, conversions run at the same time and may move it earlier. Otherwise the discussion waits at its limit until a
    fault, so that it is promoted during the fault.
    """

    kind = "posts to short discussions"
    # The writer that reached the limit may have been killed. The next one promotes the discussion instead.
    BEYOND = 2

    def __init__(self, *args: object, meddled: bool = False) -> None:
        super().__init__(*args)
        self.meddled = meddled
        self.pace = 2.5 if meddled else Poster.pace
        self._made = 0
        self._left = 0

    def begin(self) -> None:
        self._editor = Browser(self.site.port, self.ledger)
        log_in(self._editor, self.site, self.insist)

    def round(self) -> None:
        if not self._left:
            self._next_discussion()
        began, is_last = time.monotonic(), self._left == self.BEYOND + 1
        if is_last and not self.meddled:
            began = self._wait_for_trouble()
        super().round()
        self._left -= 1
        if is_last and not self.meddled:
            self.ledger.did("bounds reached")
            if self.ledger.broken(began, time.monotonic()):
                self.ledger.did("bounds reached while something was broken")

    def _next_discussion(self) -> None:
        self._made += 1
        title = f"short-{'meddled' if self.meddled else 'alone'}-{self._made}"
        fields = {"section": self.content.blog, "text": "Say a little.", "comments": "open"}
        self.target = make_node(self._editor, self.insist, "blog-entry", title, **fields)
        self._slugs.clear()
        self._left = BOUND + self.BEYOND
        self.ledger.short[self.target] = self.meddled

    def _wait_for_trouble(self) -> float:
        while not self.over.is_set() and not self.ledger.broken(time.monotonic(), time.monotonic()):
            self.over.wait(0.02)
        return time.monotonic()


class Moderator(Traffic):
    """Publishes two of three held comments, and rejects the third."""

    kind = "decisions"
    pace = 0.5

    def begin(self) -> None:
        log_in(self.browser, self.site, self.insist)

    def round(self) -> None:
        if form := self.page("/admin/marginalia_comments/moderation/").form("queue"):
            for value in [value for _name, value in form.buttons if value.startswith("approve:")][:4]:
                self._decide(form, *value.partition(":")[2].split("."))

    def _decide(self, form: Form, held: str, rev: str) -> None:
        if self.dice.random() < 1 / 3:
            data = [("csrfmiddlewaretoken", form["csrfmiddlewaretoken"]), ("action", f"reject:{held}.{rev}")]
            answer = self.insist(lambda: self.browser.post(form.action, data, self.kind))
            if answer.status != 302:
                return self.refused(f"reject {held}", answer)
            self.ledger.rejected.add(held)
        else:
            path = f"/comments/approve/{held}"
            data = [("csrfmiddlewaretoken", form["csrfmiddlewaretoken"]), ("rev", rev)]
            answer = self.insist(lambda: self.browser.post(path, data, self.kind))
            if answer.status != 302:
                return self.refused(f"approve {held}", answer)
            self.ledger.approved[held] = answer.location.partition("#c-")[2]
        self.ledger.did(self.kind)
        return None


class Converter(Traffic):
    """Converts discussions back and forth with the command, while people post to them.

    One is long, and one is the current short one, which is embedded again while its target has room.
    """

    kind = "conversions"
    pace = 1.0

    def begin(self) -> None:
        self._steps = self._to_do()

    def round(self) -> None:
        target, layout = next(self._steps)
        began = time.monotonic()
        done = self.site.manage("convert_comments", "--to", layout, "--discussion", f"nodes.node:{target}")
        if done.returncode == 0:
            self._note(target, layout, done.stdout)
        elif not self._may_fail(layout, began, time.monotonic(), done.stderr):
            self.ledger.wrong.append(f"conversions: {done.stderr[-500:]}")

    def _to_do(self) -> Iterator[tuple[str, str]]:
        while True:
            for to, away in (("buckets", "documents"), ("documents", "buckets")):
                yield self.content.discussed, to
                for target in [target for target, meddled in list(self.ledger.short.items()) if meddled][-1:]:
                    yield target, away
                    yield target, "embedded"

    def _note(self, target: str, layout: str, said: str) -> None:
        self.ledger.did(self.kind)
        if target == self.content.discussed:
            self.ledger.converted[target] = layout
        elif said.startswith("1 "):
            self.ledger.did(f"conversions {'to' if layout == 'embedded' else 'from'} embedded")

    def _may_fail(self, layout: str, began: float, ended: float, why: str) -> bool:
        # The discussion may not exist yet, or be too long to be embedded again.
        if "doesn't exist" in why or (layout == "embedded" and "more comments than its target can store" in why):
            return True
        # A converter that died blocks others for half a minute.
        return "being converted" in why or (self.ledger.broken(began, ended) and "copy" not in why)
