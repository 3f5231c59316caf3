"""Costs of each comment layout for posting, reading, converting and storage (docs/how-to/choose-a-layout.md)."""

import os
import random
import statistics
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pymongo

from benchmarks import report, site
from benchmarks.timing import measure_seconds

ROUNDS = 10 if site.QUICK else 60
# Number of seconds between two posts while a discussion is being converted.
PAUSE = 0.05
TEXT = "A comment of some two hundred characters, as people write them when they have read a post to its end. " * 2
# Goals of a conversion: number of comments per second, and ratio to a plain copy.
MIN_RATE = 8_000
MIN_RATIO = 0.5
# Sizes of the measured discussions. BENCH_COMMENTS=100,10000 omits the longest discussion.
SIZES = [int(n) for n in os.environ.get("BENCH_COMMENTS", "100" if site.QUICK else "100,10000,1000000").split(",")]


def main() -> None:
    """Measure every layout at every size that it supports, and publish the results."""
    with site.temporary_site():
        prepare()
        costs: list[list[object]] = []
        moves: list[list[object]] = []
        for size in SIZES:
            trial = Trial(size)
            trial.run()
            costs += trial.costs
            moves += trial.moves
            report.publish("comments", [report.Table("Comments", COSTS, COLUMNS, costs), _moving(moves)])


COLUMNS = ["Comments", "Layout", "Post", "× raw", "Reply", "× raw", "First page", "Middle", "Last", "Permalink"]
COLUMNS += ["Sub-thread", "Data, MB", "Indexes, MB"]
COSTS = f"""These are the times of the comments backend in milliseconds (medians of {ROUNDS} calls, or of 20 calls for
posts to the short discussion). Each page contains 100 comments, in the layout's storage order. The times don't
include rendering the text. *× raw* compares the time with a single `insert_one` of a comment's text into a collection
that has only the `_id` index. The sizes are `storageSize` and `totalIndexSize` (compressed)."""
MOVES = f"""This table shows the number of comments that are converted per second. During each conversion, another
thread posts a comment every {PAUSE * 1000:.0f} ms. The conversion verifies every comment. *Bare copy* copies the
documents into a collection with the same indexes, without verification. *Posts* is the number of comments that were
posted during the conversion."""


def _moving(rows: list[list[object]]) -> report.Table:
    columns = ["Comments", "Move", "Per second", "Bare copy", "Ratio", f"≥ {MIN_RATIO:g}", f"≥ {MIN_RATE:,}", "Posts"]
    return report.Table("Conversions", MOVES, columns, rows)


def prepare() -> None:
    """Set up Django and the indexes."""
    import django

    django.setup()
    from django.conf import settings
    from django.core.signals import setting_changed

    from marginalia.mongo import indexes

    settings.COMMENTS = {"KEEP_OLD_COPY": 0, "TARGETS": {"auth.user": {"LAYOUT": "embedded"}}}
    setting_changed.send(sender=None, setting="COMMENTS", value=None, enter=True)
    for change in indexes.plan([]):
        indexes.apply_change(change)


class Trial:
    """A discussion of `size` comments that is converted from layout to layout."""

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
        # Only discussions with this label can be embedded. They need a target document to contain them.
        user = User.objects.create_user(str(ObjectId()))
        self.target = Target("auth.user", str(user.pk))

    def run(self) -> None:
        """Build the discussion, and measure it in each layout."""
        from marginalia.comments.types import Order

        self.build()
        self.row("documents", "comments")
        if self.size <= 200:
            self.move("embedded", Order.OLDEST)
            self.row("embedded", "auth_user")
            self.move("documents", Order.OLDEST)
        bare = self.bare_copy()
        self.add_move("documents → buckets", bare, self.move("buckets", Order.OLDEST))
        self.row("buckets, oldest", "comment_pages")
        self.add_move("buckets → documents", bare, self.move("documents", Order.THREADED))
        self.clear_pages()
        self.add_move("documents → threaded buckets", bare, self.move("buckets", Order.THREADED))
        self.row("buckets, threaded", "comment_pages")
        self.backend.delete_discussion(self.target)

    def add_move(self, name: str, bare: float, rate: float) -> None:
        """Add the row of a conversion. `bare` and `rate` are the rates of a plain copy and of the conversion."""
        if self.size < 10_000:
            return
        verdicts = ["met" if is_met else "missed" for is_met in (rate / bare >= MIN_RATIO, rate >= MIN_RATE)]
        figures = [f"{rate:,.0f}", f"{bare:,.0f}", f"{rate / bare:.2f}"]
        self.moves.append([f"{self.size:,}", name, *figures, *verdicts, self.posted])
        self.posted = 0

    def build(self, layout: str = "documents", order: str = "oldest") -> None:
        """Store the comments in the given layout and order, as if they had been posted."""
        from marginalia.comments.backends.discussions import new_document
        from marginalia.comments.types import Order

        document = new_document(self.target, layout, Order(order), 100)
        discussions = self.backend.store.discussions
        discussions.collection.insert_one({**document, "count": self.size, "last_number": self.size})
        place = self.place()
        batch: list[dict[str, Any]] = []
        comments = self.comments()
        if order == "threaded" and layout != "documents":
            comments = iter(sorted(comments, key=lambda comment: str(comment["full_slug"])))
        for comment in comments:
            batch.append(comment)
            if len(batch) == 1_000:
                self.backend.store.layouts.of(place).copy(place, batch)
                batch = []
        if batch:
            self.backend.store.layouts.of(place).copy(place, batch)

    def comments(self) -> Iterator[dict[str, Any]]:
        """Yield comment documents in chronological order. Half of them are replies to one of the previous ten."""
        from datetime import UTC, datetime, timedelta

        from marginalia.comments import slugs
        from marginalia.comments.backends.stored import comment_document, content_document
        from marginalia.comments.types import CommentAuthor, NewComment

        recent: list[dict[str, Any]] = []
        posted = datetime(2026, 1, 1, tzinfo=UTC)
        generator = random.Random(7)
        for number in range(1, self.size + 1):
            new = NewComment(
                CommentAuthor(f"Reader {number % 997}", str(number % 997)), TEXT, f"<p>{TEXT}</p>", str(number)
            )
            parent = generator.choice(recent) if recent and generator.random() < 0.5 else None
            if parent and parent["slug"].count("/") > 6:
                parent = None
            slug = slugs.join(parent["slug"] if parent else "", slugs.part(new.token))
            document = comment_document(
                content_document(new), slug, number, posted + timedelta(milliseconds=number), parent
            )
            recent = [*recent[-9:], document]
            yield document

    def place(self) -> Any:
        from marginalia.comments.backends.stored import read_place

        discussion = self.backend.store.discussions.find(self.target)
        assert discussion is not None
        return read_place(discussion)

    def move(self, layout: str, order: Any) -> float:
        """Convert the discussion while a writer posts to it, and return the number of comments per second."""
        stopping = threading.Event()
        writer = threading.Thread(target=self.post_until, args=(stopping,))
        writer.start()
        try:
            seconds = measure_seconds(lambda: self.backend.convert(self.target, layout, order))
        finally:
            stopping.set()
            writer.join()
        self.backend.drop_old_copies(self.target)
        return self.size / seconds

    def post_until(self, stopping: threading.Event) -> None:
        """Post a comment every PAUSE seconds until `stopping` is set."""
        while not stopping.wait(PAUSE):
            self.backend.post(self.target, self.new(""))
            self.posted += 1

    def clear_pages(self) -> None:
        """Recreate the collection of buckets, so that the next measured size doesn't include old buckets."""
        from marginalia.mongo import indexes

        self.db.comment_pages.drop()
        for change in indexes.plan(["comment_pages"]):
            change.apply(self.db)

    def bare_copy(self) -> float:
        """Copy the documents to a collection with the same indexes, and return the number of comments per second."""
        self.db.bare.create_indexes(
            [
                pymongo.IndexModel(list(index.pop("key").items()), **index)
                for index in map(dict, self.db.comments.list_indexes())
                if index.pop("v") and index["name"] != "_id_"
            ]
        )

        def copy() -> None:
            last_number = 0
            epoch = self.place().epoch
            while batch := list(
                self.db.comments.find({"discussion_id": self.target.id, "epoch": epoch, "number": {"$gt": last_number}})
                .sort("number", 1)
                .limit(1_000)
            ):
                self.db.bare.insert_many(batch, ordered=False)
                last_number = batch[-1]["number"]

        seconds = measure_seconds(copy)
        self.db.bare.drop()
        return self.size / seconds

    def row(self, name: str, collection: str) -> None:
        """Measure the layout, and add its row to the table."""
        stats = self.db.command("collStats", collection)
        discussion = self.backend.discussion(self.target)
        native = self.backend.discussion(self.target).order
        slug = self.reply_slug(0.6)
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
        self.costs.append([f"{self.size:,}", name, *writes, *(f"{milliseconds:.2f}" for milliseconds in reads), *sizes])

    def reply_slug(self, share: float) -> str:
        """Return the slug of the first reply after the given share of the discussion."""
        number = int(self.size * share)
        while True:
            for item in self.backend.store.layouts.of(self.place()).by_number(self.place(), number, number + 20):
                if "/" in item["slug"]:
                    return str(item["slug"])
            number += 20

    def new(self, parent: str) -> Any:
        """Return a new comment, which is a reply if `parent` is a slug."""
        from marginalia.comments.types import CommentAuthor, NewComment

        return NewComment(CommentAuthor("Bench"), TEXT, f"<p>{TEXT}</p>", str(random.random()), parent)

    def writes(self, root: str) -> tuple[float, float, float]:
        """Return the median milliseconds of a post, a reply and a plain insert_one, measured alternately."""
        post = []
        reply = []
        raw = []
        rounds = 20 if self.size <= 200 else ROUNDS
        for _ in range(rounds):
            post.append(measure_seconds(lambda: self.backend.post(self.target, self.new(""))))
            reply.append(measure_seconds(lambda: self.backend.post(self.target, self.new(root))))
            raw.append(measure_seconds(lambda: self.db.raw.insert_one({"text": TEXT, "html": TEXT})))
        return tuple(statistics.median(seconds) * 1_000 for seconds in (post, reply, raw))  # type: ignore[return-value]


def median(work: Callable[[], object]) -> float:
    """Return the median milliseconds of ROUNDS calls."""
    return statistics.median(measure_seconds(work) for _ in range(ROUNDS)) * 1_000
