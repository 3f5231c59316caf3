"""Many concurrent writers, repeated tokens, edits, crashes and conversions.

Acknowledged comments exist exactly once.
"""

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.errors import CommentNotFound, ConversionFailed, EditConflict, InvalidParent
from marginalia.comments.types import Order
from tests.comments.backends.fighters import PHASES
from tests.support.comments import audit
from tests.support.comments.interruptions import Crash, Interrupted
from tests.support.comments.layouts import DOCUMENTS, FORMS, THREADED_BUCKETS, configure
from tests.support.comments.making import new
from tests.support.interrupting import before_command

ROOT = Path(__file__).parents[3]
# Converters, editors and readers run in their own threads, whose errors count.
pytestmark = pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")


def in_threads(count, work):
    """Run `work(n)` in n threads, and raise the first error of a thread."""
    failures = []

    def guarded(n):
        try:
            work(n)
        except BaseException as error:  # noqa: BLE001 - told by the thread that can fail the test
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def insisting(work, crashes=None):
    """Repeat `work` until it doesn't crash, as a reader sends a form again."""
    while True:
        try:
            return work()
        except Crash:
            if crashes is not None:
                crashes["crashed"] += 1


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form))
def test_every_token_is_posted_once(mongo, settings, target, form):
    """16 posters send 60 tokens three times each, also replies, and stop anywhere between two commands."""
    backend = configure(settings, *form, BOUND=1000)
    roots = [backend.post(target, new(f"root {n}")).comment.slug for n in range(3)]
    work = [(f"{n} $$ROOT", random.choice(["", *roots])) for n in range(60)]
    work = [item for item in work for _ in range(3)]
    random.shuffle(work)
    lock, answers, crashes = threading.Lock(), {}, Counter()

    def poster(n):
        mine = Interrupted(MongoBackend(), chance=0.05)
        while True:
            with lock:
                if not work:
                    return
                token, parent = work.pop()
            slug = insisting(lambda: mine.post(target, new(token, parent)).comment.slug, crashes)  # noqa: B023
            with lock:
                answers.setdefault(token, set()).add(slug)

    in_threads(16, poster)
    stored = audit.stored(target, "auth_user", quiet=False, crashed=True)
    assert Counter(item["source"] for item in stored if not item["source"].startswith("root")) == Counter(
        answers.keys()
    )
    assert all(len(found) == 1 for found in answers.values())
    assert len({item["number"] for item in stored}) == len(stored)
    backend.repair_claims(target, older_than=0)
    audit.stored(target, "auth_user", crashed=True)
    assert crashes["crashed"] > 0


@pytest.mark.parametrize(("layout", "collection"), [("buckets", "comment_pages"), ("embedded", "auth_user")])
def test_copy_of_a_form_stored_after_the_lookup_adds_nothing(mongo, settings, target, layout, collection):
    backend = configure(settings, layout)
    with before_command("update", collection, lambda: MongoBackend().post(target, new("once"))):
        backend.post(target, new("once"))
    assert [item["source"] for item in audit.stored(target, "auth_user")] == ["once"]


@pytest.mark.slow
def test_two_moderators_publish_a_held_comment_once(mongo, settings, target):
    backend = configure(settings)
    held = [backend.hold(target, new(str(n))).held.id for n in range(20)]
    in_threads(8, lambda n: [MongoBackend().approve(one) for one in held])
    assert len(audit.stored(target)) == backend.discussion(target).count == 20


def test_one_of_two_editors_gets_a_conflict(mongo, settings, target):
    backend = configure(settings, "buckets")
    slug = backend.post(target, new("one")).comment.slug
    won = []

    def editor(n):
        for rev in range(1, 21):
            try:
                MongoBackend().edit(target, slug, source=f"{n}", html="", rev=rev, token=f"{n} {rev}")
            except EditConflict:
                continue
            won.append(rev)

    in_threads(4, editor)
    assert backend.get(target, slug).rev == 1 + len(set(won))
    assert len(backend.history(target, slug)) == len(set(won))


@pytest.mark.slow
def test_removals_and_restores_keep_the_count(mongo, settings, target):
    """Each request is sent twice at once. The count is right without a repair."""
    backend = configure(settings, "buckets", Order.THREADED)
    slugs = [backend.post(target, new(str(n))).comment.slug for n in range(6)]

    def moderator(n):
        for round_ in range(6):
            for slug in slugs:
                mine = MongoBackend()
                rev = 2 * round_ + 1
                try:
                    mine.remove(target, slug, rev=rev, token=f"r{round_} {n // 2}")
                    mine.restore(target, slug, rev=rev + 1, token=f"u{round_} {n // 2}")
                except EditConflict:
                    continue

    in_threads(4, moderator)
    audit.stored(target)


def walker(target, acknowledged, stop, wrong):
    """Read all pages by cursor repeatedly.

    Earlier comments appear once and in order, nothing appears twice. Return on how many walks a newly posted comment
    was met, or not.
    """
    backend, overtaken = MongoBackend(), 0
    while not stop.is_set():
        expected = set(acknowledged)
        met, after = [], ""
        while True:
            page = backend.page(target, order=Order.THREADED, size=33, after=after)
            met += [c.full_slug for c in page.comments]
            if page.fell_back or not page.next:
                break
            after = page.next
        if page.fell_back:
            continue
        if len(set(met)) != len(met) or met != sorted(met):
            wrong.append("met twice, or out of order")
        if missing := expected - set(met):
            wrong.append(f"{len(missing)} were missed")
        overtaken += bool(expected) and len(acknowledged) > len(expected)
    return overtaken


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("form", [DOCUMENTS, THREADED_BUCKETS], ids=lambda form: "-".join(form))
def test_reading_by_cursor_skips_nothing_during_posts(mongo, settings, target, form):
    configure(settings, *form)
    acknowledged, stop, wrong = [], threading.Event(), []

    def poster(n):
        mine = MongoBackend()
        for count in range(60):
            parents = [slug for _, slug in slugs[-5:]]
            made = mine.post(target, new(f"{n} {count}", random.choice(["", *parents]))).comment
            slugs.append((made.full_slug, made.slug))
            acknowledged.append(made.full_slug)

    slugs, overtaken = [], []
    walking = threading.Thread(target=lambda: overtaken.append(walker(target, acknowledged, stop, wrong)))
    walking.start()
    try:
        in_threads(6, poster)
    finally:
        stop.set()
        walking.join()
    assert wrong == []
    assert len(acknowledged) == 360
    assert overtaken[0] > 3
    audit.stored(target)


@pytest.mark.slow
def test_conversions_cause_no_errors(mongo, settings, target):
    """A discussion is converted without pause, and old copies are dropped at once. All readers and posters succeed."""
    backend = configure(settings, "embedded", BOUND=1000)
    settings.COMMENTS = {**settings.COMMENTS, "KEEP_OLD_COPY": 0}
    slugs, done, converted = [backend.post(target, new("first")).comment.slug], threading.Event(), Counter()
    forms = [("documents", Order.OLDEST), ("buckets", Order.THREADED), ("embedded", Order.OLDEST)]

    def converter():
        mine = MongoBackend()
        while not done.is_set():
            for form in forms:
                converted["done"] += mine.convert(target, *form) > 0
                mine.drop_old_copies(target)
            mine.renumber(target)

    def reader(mine):
        slug = random.choice(slugs)
        assert mine.get(target, slug).slug == slug
        assert mine.page(target, order=Order.OLDEST, at=slug).comments
        assert mine.page(target).comments
        assert slug in mine.subdiscussion(target, slug).comments[0].slug

    def poster(n):
        mine = MongoBackend()
        for count in range(6):
            slugs.append(mine.post(target, new(f"{n} {count}", random.choice(["", *slugs]))).comment.slug)
            reader(mine)

    converting = threading.Thread(target=converter)
    converting.start()
    try:
        in_threads(16, poster)
    finally:
        done.set()
        converting.join()
    assert len(audit.stored(target, "auth_user")) == len(slugs) == 97
    assert converted["done"]


class Fray:
    """Posters, editors, removers, readers and converters on one discussion, and their acknowledged results."""

    def __init__(self, target, conversions, chance):
        self.target, self.chance, self.conversions = target, chance, conversions
        self.lock = threading.Lock()
        self.tokens, self.work = 0, []
        self.posted, self.edited, self.removed = {}, {}, set()
        self.landed, self.converted, self.wrong = Counter(), Counter(), []
        self.done = threading.Event()

    def backend(self):
        return Interrupted(MongoBackend(), chance=self.chance)

    def more_work(self):
        """Create 30 more tokens, each sent two to eight times, until enough conversions had posts during them."""
        if sum(self.converted.values()) >= self.conversions and self.landed["moving"]:
            return False
        self.work = [str(self.tokens + n) for n in range(30) for _ in range(random.randint(2, 8))]
        self.tokens += 30
        random.shuffle(self.work)
        return True

    def poster(self):
        mine = self.backend()
        while True:
            with self.lock:
                if not self.work and not self.more_work():
                    return
                token = self.work.pop()
                parent = random.choice(["", *list(self.posted.values())[-3:]]) if token not in self.posted else ""
                parent = self.parents.setdefault(token, parent)
            before = MongoBackend().discussion(self.target)
            try:
                made = insisting(lambda: mine.post(self.target, new(token, parent)))  # noqa: B023
            except InvalidParent:  # its parent was removed, so it was not acknowledged
                continue
            with self.lock:
                self.landed["moving" if before.moving else before.layout] += made.new
                if self.posted.setdefault(token, made.comment.slug) != made.comment.slug:
                    self.wrong.append(f"{token} was told two slugs")

    parents: dict = {}

    def changer(self):
        mine = self.backend()
        while not self.done.is_set():
            with self.lock:
                slugs = list(self.posted.values())
            if slugs:
                self.change(mine, random.choice(slugs), str(random.random()))

    def change(self, mine, slug, token):
        try:
            rev = insisting(lambda: mine.get(self.target, slug)).rev
            if random.random() < 0.2:
                insisting(lambda: mine.remove(self.target, slug, rev=rev, token=token))
                self.removed.add(slug)
                return
            text = {"source": str(rev + 1), "html": ""}
            insisting(lambda: mine.edit(self.target, slug, rev=rev, token=token, **text))
            with self.lock:
                self.edited[slug] = max(rev + 1, self.edited.get(slug, 0))
        except EditConflict:
            return
        except CommentNotFound:
            if not insisting(lambda: mine.get(self.target, slug)).removed:
                self.wrong.append(f"{slug} was not found")

    def reader(self):
        mine = MongoBackend()
        while not self.done.is_set():
            with self.lock:
                expected, edited = set(self.posted.values()), dict(self.edited)
            found = {}
            for comment in mine.iterate(self.target):
                if comment.slug in found:
                    self.wrong.append(f"{comment.slug} was read twice")
                found[comment.slug] = comment
            if missing := expected - set(found):
                self.wrong.append(f"{len(missing)} were missing")
            if any(found[slug].rev < rev for slug, rev in edited.items() if slug in found):
                self.wrong.append("an edit was undone")

    def converter(self, forms):
        mine = Interrupted(MongoBackend(), chance=self.chance / 20)
        while not self.done.is_set():
            form = random.choice(forms)
            try:
                if mine.convert(self.target, *form):
                    self.converted["-".join(form)] += 1
            except (ConversionFailed, Crash):
                continue

    def run(self, posters, changers, converters, forms):
        """Post everything while the other threads run, then stop them."""
        self.parents = {}
        rest = [threading.Thread(target=self.changer) for _ in range(changers)]
        rest += [threading.Thread(target=self.converter, args=(forms,)) for _ in range(converters)]
        rest += [threading.Thread(target=self.reader)]
        for thread in rest:
            thread.start()
        try:
            in_threads(posters, lambda n: self.poster())
        finally:
            self.done.set()
            for thread in rest:
                thread.join()

    def check(self):
        """Check that everything acknowledged is stored once, and that only counters need a repair."""
        backend = MongoBackend()
        backend.repair_claims(self.target, older_than=0)
        for form in (("documents", Order.OLDEST), ("buckets", Order.THREADED)):
            with_patience(lambda: backend.convert(self.target, *form))  # noqa: B023
        stored = {item["slug"]: item for item in audit.stored(self.target, "auth_user", quiet=False, crashed=True)}
        assert set(self.posted.values()) <= set(stored)
        assert len(stored) == len(self.posted)
        assert all(stored[slug]["rev"] >= rev for slug, rev in self.edited.items())
        assert all(stored[slug]["state"] == "removed" for slug in self.removed)
        assert len({item["number"] for item in stored.values()}) == len(stored)
        assert {fault.kind for fault in backend.audit(self.target)} <= {
            "count",
            "copies",
            "leftovers",
            "claims",
        }
        assert self.wrong == []


def with_patience(work):
    """Convert, and retry for some time while another conversion seems to run."""
    end = time.monotonic() + 60
    while True:
        try:
            return work()
        except ConversionFailed:
            if time.monotonic() > end:
                raise


def brawl(settings, target, monkeypatch, conversions):
    configure(settings, BOUND=400)
    monkeypatch.setattr("marginalia.comments.backends.discussions.DEAD_AFTER", 1)
    monkeypatch.setattr("marginalia.comments.backends.discussions.ABANDONED", 3)
    monkeypatch.setattr("marginalia.comments.backends.discussions.LEASE", 1)
    fray = Fray(target, conversions, chance=0.02)
    fray.run(posters=6, changers=2, converters=2, forms=[form for form in FORMS if form[0] != "embedded"])
    fray.check()
    assert fray.landed["moving"] > 0


@pytest.mark.slow
def test_conversions_lose_nothing_under_load(mongo, settings, target, monkeypatch):
    """Posts, edits and removals crash, while two rival converters convert the discussion back and forth."""
    brawl(settings, target, monkeypatch, conversions=1)


@pytest.mark.slow
def test_conversions_lose_nothing_under_long_load(mongo, settings, target, monkeypatch):
    brawl(settings, target, monkeypatch, conversions=20)


@pytest.mark.slow
def test_conversion_loses_nothing_with_64_threads(mongo, settings, target):
    """Each token is sent two to eight times from two processes, with edits, removals and conversions."""
    configure(settings)
    MongoBackend().post(target, new("first"))

    def fighter(role, seed):
        words = [sys.executable, "-m", "tests.comments.backends.fighters", role, mongo.name, str(target), str(seed)]
        return subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    converter = fighter("converter", 0)
    posters = [fighter("poster", seed) for seed in range(4)]
    told = [json.loads(poster.communicate()[0].splitlines()[-1]) for poster in posters]
    converted = json.loads(converter.communicate("")[0].splitlines()[-1])
    stored = {item["slug"]: item for item in audit.stored(target)}
    for one in told:
        assert set(one["posted"].values()) <= set(stored)
        assert all(stored[slug]["rev"] >= rev for slug, rev in one["edited"].items())
        assert all(stored[slug]["state"] == "removed" for slug in one["removed"])
    assert len(stored) == 1 + len({slug for one in told for slug in one["posted"].values()})
    assert len({item["number"] for item in stored.values()}) == len(stored)
    assert converted > 0
    landed = sum((Counter(one["landed"]) for one in told), Counter())
    assert landed.keys() >= PHASES, landed
    kinds = {fault.kind for fault in MongoBackend().audit(target)}
    assert kinds <= {"copies"}
