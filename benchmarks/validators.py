"""Costs of MongoDB's document validation: posting and saving with and without validators."""

import statistics
from collections.abc import Callable
from typing import Any

from benchmarks import site
from benchmarks.timing import measure_seconds

# Rounds with and without validators alternate, so that other load on the machine slows down both.
ROUNDS, WRITES = (2, 30) if site.QUICK else (6, 60)
SIZE = 90  # comments in a measured discussion, so that its bucket or array is nearly full


def main() -> None:
    """Print the median and the 95th percentile of the milliseconds per write, with and without validators."""
    with site.temporary_site():
        measure()


def measure() -> None:
    """Measure every kind of write in alternating rounds with and without validators."""
    import django

    django.setup()
    from marginalia.mongo import indexes
    from marginalia.mongo.connection import database

    indexes.ensure()
    print("\n  milliseconds (median / 95th percentile)        with validators   without")
    for name, (prepare, write) in trials().items():
        times: dict[bool, list[float]] = {True: [], False: []}
        for round in range(ROUNDS):
            for is_validated in (True, False) if round % 2 else (False, True):
                set_validation(database(), is_validated)
                for _ in range(WRITES):
                    prepare()
                    times[is_validated].append(measure_seconds(write) * 1_000)
        row = "   ".join(f"{format_times(times[is_validated]):>15}" for is_validated in (True, False))
        print(f"  {name:<44} {row}", flush=True)


def set_validation(db: Any, on: bool) -> None:
    """Enable or disable the validators of all collections."""
    for collection in db.list_collections(filter={"options.validator": {"$exists": True}}):
        db.command("collMod", collection["name"], validationLevel="moderate" if on else "off")


def format_times(times: list[float]) -> str:
    """Return the median and the 95th percentile of `times`."""
    return f"{statistics.median(times):.2f} / {statistics.quantiles(times, n=20)[-1]:.2f}"


def trials() -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Return {name: (unmeasured preparation, measured write)}."""
    from bson import ObjectId

    from marginalia.comments.backends.mongodb import MongoBackend
    from marginalia.comments.types import CommentAuthor, NewComment, Order, Target
    from nodes.services import editing
    from nodes.types import Actor

    actor = Actor(None, "Ann")
    backend = MongoBackend()
    blog = editing.create(actor, type="blog", parent_id=None, slug="blog", title="Blog").id

    def node(text: str) -> Any:
        return editing.create(
            actor, type="blog-entry", parent_id=blog, slug="", title="Post", fields={"detail.text": text}
        )

    def new() -> NewComment:
        return NewComment(author=CommentAuthor("Ann"), source="Text", html="<p>Text</p>", token=str(ObjectId()))

    def posting(layout: str) -> tuple[Callable[[], object], Callable[[], object]]:
        posts: list[Target] = []

        def prepare() -> None:
            if not posts or backend.discussion(posts[-1]).count >= SIZE + 8:
                posts.append(Target("nodes.node", str(node("Text").id)))
                for _ in range(SIZE):
                    backend.post(posts[-1], new())
                backend.convert(posts[-1], layout, Order.OLDEST)

        return prepare, lambda: backend.post(posts[-1], new())

    saved = node("Paragraph. " * 500)
    nonce = saved.nonce

    def save() -> None:
        nonlocal nonce
        nonce = editing.save(actor, saved.id, nonce, {"title": str(ObjectId())}).nonce

    return {
        **{f"post a comment, {layout}": posting(layout) for layout in ("documents", "buckets", "embedded")},
        "save a post": (lambda: None, save),
        "create a post": (lambda: None, lambda: node("Text")),
    }
