"""What it costs that the server judges each document it takes: posting, editing and uploading with validators and without."""

import statistics
from collections.abc import Callable
from typing import Any

from benchmarks import site
from benchmarks.timing import clocked

# Rounds take turns, so that what slows the machine down slows both.
ROUNDS, WRITES = (2, 30) if site.QUICK else (6, 60)
SIZE = 90  # comments that a discussion has when it is measured: a bucket, an array that is nearly full


def main() -> None:
    """Print a table: milliseconds a write, median and 95th percentile, with and without."""
    with site.served_by_mongod():
        measure()


def measure() -> None:
    """Measure every kind of write in turns."""
    import django

    django.setup()
    from marginalia.mongo import indexes
    from marginalia.mongo.connection import database

    indexes.ensure()
    print("\n  milliseconds (median / 95th percentile)        with validators   without")
    for name, (prepare, write) in trials().items():
        times: dict[bool, list[float]] = {True: [], False: []}
        for round in range(ROUNDS):
            for judged in (True, False) if round % 2 else (False, True):
                switch(database(), judged)
                for _ in range(WRITES):
                    prepare()
                    times[judged].append(clocked(write) * 1_000)
        row = "   ".join(f"{spelled(times[judged]):>15}" for judged in (True, False))
        print(f"  {name:<44} {row}", flush=True)


def switch(db: Any, on: bool) -> None:
    """Let the server judge documents, or not."""
    for listed in db.list_collections(filter={"options.validator": {"$exists": True}}):
        db.command("collMod", listed["name"], validationLevel="moderate" if on else "off")


def spelled(times: list[float]) -> str:
    return f"{statistics.median(times):.2f} / {statistics.quantiles(times, n=20)[-1]:.2f}"


def trials() -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Return what is measured, by name, each with what comes before it untimed."""
    from bson import ObjectId

    from marginalia.comments.backends.mongodb import MongoBackend
    from marginalia.comments.types import Author, NewComment, Order, Target
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
        return NewComment(author=Author("Ann"), source="Text", html="<p>Text</p>", token=str(ObjectId()))

    def posting(schema: str) -> tuple[Callable[[], object], Callable[[], object]]:
        posts: list[Target] = []

        def prepare() -> None:
            if not posts or backend.discussion(posts[-1]).count >= SIZE + 8:
                posts.append(Target("nodes.node", str(node("Text").id)))
                for _ in range(SIZE):
                    backend.post(posts[-1], new())
                backend.convert(posts[-1], schema, Order.OLDEST)

        return prepare, lambda: backend.post(posts[-1], new())

    saved = node("Paragraph. " * 500)
    nonce = saved.nonce

    def save() -> None:
        nonlocal nonce
        nonce = editing.save(actor, saved.id, nonce, {"title": str(ObjectId())}).nonce

    return {
        **{f"post a comment, {schema}": posting(schema) for schema in ("documents", "buckets", "embedded")},
        "save a post": (lambda: None, save),
        "create a post": (lambda: None, lambda: node("Text")),
    }
