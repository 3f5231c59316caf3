"""What each way to keep comments costs: posting, reading, moving, space (docs/how-to/choose-a-schema.md)."""

import os
import random
import statistics
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pymongo

from benchmarks import report, site
from benchmarks.timing import clocked

ROUNDS = 10 if site.QUICK else 60
# Seconds between two posts while a discussion is moved.
PAUSE = 0.05
TEXT = "A comment of some two hundred characters, as people write them when they have read a post to its end. " * 2
# What a conversion should reach: comments a second, and a part of a bare copy's.
LEAST_RATE = 8_000
LEAST_RATIO = 0.5
# Of the discussions measured; BENCH_COMMENTS=100,10000 leaves out the long one.
SIZES = [int(n) for n in os.environ.get("BENCH_COMMENTS", "100" if site.QUICK else "100,10000,1000000").split(",")]


def main() -> None:
    """Measure every schema at every size that it takes; print, publish."""
    with site.served_by_mongod():
        prepare()
        costs: list[list[object]] = []
        moves: list[list[object]] = []
        for size in SIZES:
            trial = Trial(size)
            trial.run()
            costs += trial.costs
            moves += trial.moves
            report.publish("comments", [report.Table("Comments", COSTS, COLUMNS, costs), _moving(moves)])


COLUMNS = ["Comments", "Schema", "Post", "× raw", "Reply", "× raw", "First page", "Middle", "Last", "Permalink"]
COLUMNS += ["Sub-thread", "Data, MB", "Indexes, MB"]
COSTS = f"""Milliseconds of the back end, medians of {ROUNDS} calls (of 20 posts to the short one); pages of 100, in the native
order. Text is rendered before a post is timed. *Raw* is one `insert_one` of a comment's text in the same turns, to a collection
without other indexes. Sizes are `storageSize` and `totalIndexSize` (compressed)."""
MOVES = f"""Comments a second, verified, while a writer posts every {PAUSE * 1000:.0f} ms; the bare copy goes to a collection
with the same indexes and verifies nothing."""


def _moving(rows: list[list[object]]) -> report.Table:
    columns = ["Comments", "Move", "A second", "Bare copy", "Ratio", f"≥ {LEAST_RATIO:g}", f"≥ {LEAST_RATE:,}", "Posts"]
    return report.Table("Conversions", MOVES, columns, rows)


def prepare() -> None:
    """Set Django up, and the indexes."""
    import django

    django.setup()
    from django.conf import settings
    from django.core.signals import setting_changed

    from marginalia.mongo import indexes

    settings.COMMENTS = {"KEEP_OLD_COPY": 0, "TARGETS": {"auth.user": {"SCHEMA": "embedded"}}}
    setting_changed.send(sender=None, setting="COMMENTS", value=None, enter=True)
    for change in indexes.plan([]):
        indexes.apply_change(change)


class Trial:
    """One discussion of `size` comments, moved from schema to schema."""

    def __init__(self, size: int) -> None:
        from bson import ObjectId
        from django.contrib.auth.models import User

        from marginalia.comments.backends.mongodb import MongoBackend
        from marginalia.comments.types import Target

        self.backend = MongoBackend()
        self.size = size
        self.posted = 0
        self.costs: list[list[object]] = []
        self.moves: list[list[object]] = []
        self.db = self.backend.store.db
        # The label that may be embedded, with a document to be embedded in.
        user = User.objects.create_user(str(ObjectId()))
        self.target = Target("auth.user", str(user.pk))

    def run(self) -> None:
        """Build, measure, move on."""
        from marginalia.comments.types import Order

        self.build()
        self.row("documents", "comments")
        if self.size <= 200:
            self.move("embedded", Order.OLDEST)
            self.row("embedded", "auth_user")
            self.move("documents", Order.OLDEST)
        bare = self.bare_copy()
        self.note("documents → buckets", bare, self.move("buckets", Order.OLDEST))
        self.row("buckets, oldest", "comment_pages")
        self.note("buckets → documents", bare, self.move("documents", Order.THREADED))
        self.clear_pages()
        self.note("documents → threaded buckets", bare, self.move("buckets", Order.THREADED))
        self.row("buckets, threaded", "comment_pages")
        self.backend.forget(self.target)

    def note(self, what: str, bare: float, rate: float) -> None:
        """Keep the line of a move."""
        if self.size < 10_000:
            return
        verdicts = ["kept" if good else "missed" for good in (rate / bare >= LEAST_RATIO, rate >= LEAST_RATE)]
        figures = [f"{rate:,.0f}", f"{bare:,.0f}", f"{rate / bare:.2f}"]
        self.moves.append([f"{self.size:,}", what, *figures, *verdicts, self.posted])
        self.posted = 0

    def build(self, schema: str = "documents", order: str = "oldest") -> None:
        """Store the comments in a schema and order of its own, as if they had been posted."""
        from marginalia.comments.backends.discussions import new_document
        from marginalia.comments.types import Order

        document = new_document(self.target, schema, Order(order), 100)
        where = self.backend.store.discussions
        where.collection.insert_one({**document, "count": self.size, "last_number": self.size})
        place = self.place()
        batch: list[dict[str, Any]] = []
        comments = self.comments()
        if order == "threaded" and schema != "documents":
            comments = iter(sorted(comments, key=lambda comment: str(comment["full_slug"])))
        for comment in comments:
            batch.append(comment)
            if len(batch) == 1_000:
                self.backend.store.layouts.of(place).copy(place, batch)
                batch = []
        if batch:
            self.backend.store.layouts.of(place).copy(place, batch)

    def comments(self) -> Iterator[dict[str, Any]]:
        """Yield comments in time's order: half of them answer one of the last few threads."""
        from datetime import UTC, datetime, timedelta

        from marginalia.comments import slugs
        from marginalia.comments.backends.stored import body, placed
        from marginalia.comments.types import Author, NewComment

        recent: list[dict[str, Any]] = []
        posted = datetime(2026, 1, 1, tzinfo=UTC)
        draw = random.Random(7)
        for number in range(1, self.size + 1):
            new = NewComment(Author(f"Reader {number % 997}", str(number % 997)), TEXT, f"<p>{TEXT}</p>", str(number))
            answered = draw.choice(recent) if recent and draw.random() < 0.5 else None
            if answered and answered["slug"].count("/") > 6:
                answered = None
            slug = slugs.join(answered["slug"] if answered else "", slugs.part(new.token))
            made = placed(body(new), slug, number, posted + timedelta(milliseconds=number), answered)
            recent = [*recent[-9:], made]
            yield made

    def place(self) -> Any:
        from marginalia.comments.backends.stored import place

        found = self.backend.store.discussions.find(self.target)
        assert found is not None
        return place(found)

    def move(self, schema: str, order: Any) -> float:
        """Convert the discussion while a writer posts to it; return comments a second."""
        ended = threading.Event()
        poster = threading.Thread(target=self.chat, args=(ended,))
        poster.start()
        try:
            seconds = clocked(lambda: self.backend.convert(self.target, schema, order))
        finally:
            ended.set()
            poster.join()
        self.backend.drop_old_copies(self.target)
        return self.size / seconds

    def chat(self, ended: threading.Event) -> None:
        """Post, in a thread's own pace, until it is ended."""
        while not ended.wait(PAUSE):
            self.backend.post(self.target, self.new(""))
            self.posted += 1

    def clear_pages(self) -> None:
        """Give the space of the moved buckets back, so that the next ones are measured alone."""
        from marginalia.mongo import indexes

        self.db.comment_pages.drop()
        for change in indexes.plan(["comment_pages"]):
            change.apply(self.db)

    def bare_copy(self) -> float:
        """Copy the documents into a collection with the same indexes and do nothing else; comments a second."""
        self.db.bare.create_indexes(
            [
                pymongo.IndexModel(list(index.pop("key").items()), **index)
                for index in map(dict, self.db.comments.list_indexes())
                if index.pop("v") and index["name"] != "_id_"
            ]
        )

        def copy() -> None:
            read = 0
            epoch = self.place().epoch
            while batch := list(
                self.db.comments.find({"discussion_id": self.target.id, "epoch": epoch, "number": {"$gt": read}})
                .sort("number", 1)
                .limit(1_000)
            ):
                self.db.bare.insert_many(batch, ordered=False)
                read = batch[-1]["number"]

        seconds = clocked(copy)
        self.db.bare.drop()
        return self.size / seconds

    def row(self, name: str, collection: str) -> None:
        """Measure, and keep the line."""
        stats = self.db.command("collStats", collection)
        discussion = self.backend.discussion(self.target)
        native = self.backend.discussion(self.target).order
        slug = self.somewhere(0.6)
        root = slug.partition("/")[0]
        cursor = self.backend.get(self.target, slug).full_slug
        pages = -(-discussion.last_number // 100)
        if native == "threaded":
            first = lambda: self.backend.page(self.target, order=native, size=100)  # noqa: E731
            middle = lambda: self.backend.page(self.target, order=native, size=100, after=cursor)  # noqa: E731
            last = lambda: self.backend.page(self.target, order=native, size=100, before="~")  # noqa: E731
        else:
            first = lambda: self.backend.page(self.target, order=native, size=100, number=1)  # noqa: E731
            middle = lambda: self.backend.page(self.target, order=native, size=100, number=pages // 2)  # noqa: E731
            last = lambda: self.backend.page(self.target, order=native, size=100, number=pages)  # noqa: E731
        reads = [
            median(first),
            median(middle),
            median(last),
            median(lambda: self.backend.page(self.target, order=native, size=100, at=slug)),
            median(lambda: self.backend.subdiscussion(self.target, root, size=100)),
        ]
        post, reply, raw = self.writes(root)
        writes = [f"{post:.2f}", f"{post / raw:.1f}", f"{reply:.2f}", f"{reply / raw:.1f}"]
        sizes = [f"{stats[name] / 1e6:.1f}" for name in ("storageSize", "totalIndexSize")]
        self.costs.append([f"{self.size:,}", name, *writes, *(f"{taken:.2f}" for taken in reads), *sizes])

    def somewhere(self, share: float) -> str:
        """Return the slug of a reply, that far into the discussion."""
        number = int(self.size * share)
        while True:
            for item in self.backend.store.layouts.of(self.place()).by_number(self.place(), number, number + 20):
                if "/" in item["slug"]:
                    return str(item["slug"])
            number += 20

    def new(self, parent: str) -> Any:
        """Return a comment to be posted."""
        from marginalia.comments.types import Author, NewComment

        return NewComment(Author("Bench"), TEXT, f"<p>{TEXT}</p>", str(random.random()), parent)

    def writes(self, root: str) -> tuple[float, float, float]:
        """Return the medians of a post, a reply and one raw insert_one, taken in turns."""
        post = []
        reply = []
        raw = []
        rounds = 20 if self.size <= 200 else ROUNDS
        for _ in range(rounds):
            post.append(clocked(lambda: self.backend.post(self.target, self.new(""))))
            reply.append(clocked(lambda: self.backend.post(self.target, self.new(root))))
            raw.append(clocked(lambda: self.db.raw.insert_one({"text": TEXT, "html": TEXT})))
        return tuple(statistics.median(taken) * 1_000 for taken in (post, reply, raw))  # type: ignore[return-value]


def median(work: Callable[[], object]) -> float:
    """Return the median milliseconds of ROUNDS calls."""
    return statistics.median(clocked(work) for _ in range(ROUNDS)) * 1_000
