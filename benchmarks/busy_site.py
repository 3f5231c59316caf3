"""A site on which much is read, commented on and saved: its posts and comments, what readers ask for, and its writers."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

from benchmarks import content, site

POSTS, COMMENTS = (1_000, 50_000) if site.QUICK else (10_000, 1_000_000)
# Seconds from one to the next.
COMMENT_EVERY = 0.2
SAVE_EVERY = 5.0
TAG_EVERY = 20.0
BATCH = 5_000
SIGNS = "abcdefghijklmnopqrstuvwxyz234567"
_rendered: dict[str, str] = {}


def ranked() -> tuple[list[Any], list[float]]:
    """Return the ids of the posts, the most read first, and the sums of how often they are read and written to."""
    from marginalia.mongo.clock import now
    from marginalia.mongo.connection import database
    from nodes.models import tree

    blogs = [section.id for section in tree.current().sections.values() if section.slug.startswith("blog-")]
    public = {"metadata.parent_id": {"$in": blogs}, "metadata.published": {"$lte": now()}}
    ids = [one["_id"] for one in database()["cms.nodes"].find(public, {"_id": 1}).sort("_id", 1).limit(POSTS)]
    random.Random(1).shuffle(ids)
    return ids, _sums(len(ids))


def _sums(count: int) -> list[float]:
    return list(accumulate(1 / rank for rank in range(1, count + 1)))


def load(counts: Sequence[int] = ()) -> None:
    """Put comments under the posts, so many under each, or as its rank says: the documents that posting would leave."""
    from bson import Int64

    from marginalia.comments.backends.discussions import new_document
    from marginalia.comments.backends.mongodb import MongoBackend
    from marginalia.comments.types import Order, Target
    from marginalia.mongo.clock import now

    db = MongoBackend().store.db
    (posts, sums) = ranked()
    discussions: list[dict[str, Any]] = []
    batch: list[dict[str, Any]] = []
    counts = counts or [max(1, round(COMMENTS / sums[-1] / rank)) for rank in range(1, len(posts) + 1)]
    for post, count in zip(posts, counts, strict=True):
        document = new_document(Target("nodes.node", str(post)), "documents", Order.THREADED, 100)
        own = {"discussion_id": document["_id"], "epoch": document["epoch"]}
        batch += [own | comment for comment in _comments(count, now() - timedelta(seconds=30 * count))]
        last = {"last_posted": batch[-1]["posted"], "newest": batch[-1]["posted"]}
        discussions.append({**document, "count": count, "last_number": Int64(count), **last})
        while len(batch) >= BATCH or (batch and post == posts[-1]):
            db.comments.insert_many(batch[:BATCH], ordered=False)
            del batch[:BATCH]
    db.discussions.insert_many(discussions, ordered=False)


def _comments(count: int, began: datetime) -> Iterator[dict[str, Any]]:
    """Yield comments as they are stored, in time's order: half of them answer one of the last few."""
    from marginalia.comments import slugs
    from marginalia.comments.backends.stored import body, placed
    from marginalia.comments.posting import preparation
    from marginalia.comments.types import Author, NewComment

    dice = random.Random(count)
    recent = list[dict[str, Any]]()
    for number in range(1, count + 1):
        source = "\n\n".join(dice.choices(content.SENTENCES, k=2))
        html = _rendered.get(source) or _rendered.setdefault(source, preparation.render(source))
        new = NewComment(Author(f"Reader {number % 997}"), source, html, f"bench {number}")
        answered = dice.choice(recent) if recent and dice.random() < 0.5 else None
        if answered and answered["slug"].count("/") > 5:
            answered = None
        slug = slugs.join(answered["slug"] if answered else "", slugs.part(new.token))
        made = placed(body(new), slug, number, began + timedelta(seconds=30 * number), answered)
        recent = [*recent[-9:], made]
        yield made


def addresses() -> list[str]:
    """Return what readers ask for, the most read first: the home page, and posts by their rank with all else among them."""
    from cms.demo.volume import TAGS
    from marginalia.mongo.clock import now
    from nodes.models import tree
    from nodes.selectors import stored_nodes

    sections = tree.current()
    posts = ranked()[0]
    found = {node.pk: node for node in stored_nodes.whole_by_ids(posts, now())}
    held = [one for one in sections.sections.values() if one.slug.startswith(("blog-", "folder-"))]
    lists = [sections.url(one.parent_id, one.slug) for one in held]
    tags = [f"/tag/{name}" for name in TAGS]
    authors = sorted({node.metadata.author.get_absolute_url() for node in found.values()})
    feeds = [
        "/feed/atom",
        *(f"{path}/feed/atom" for path in lists if "/blog-" in path),
        *(f"{tag}/feed/rss" for tag in tags),
    ]
    asked = [found[post].get_absolute_url() for post in posts]
    dice = random.Random(2)
    for other in (*lists, *tags, *authors, *feeds, content.photo()):
        asked.insert(dice.randrange(len(asked) + 1), other)
    return ["/", *asked]


def writers() -> AbstractContextManager[Counter[str]]:
    """Comment, save and tag while the block lasts."""
    return at_their_pace(ranked()[0], {comment: COMMENT_EVERY, save: SAVE_EVERY, tag: TAG_EVERY})


@contextmanager
def at_their_pace(
    posts: Sequence[Any], each: Mapping[Callable[[random.Random, Any], None], float]
) -> Iterator[Counter[str]]:
    """Do each to some post every so many seconds while the block lasts; give how often it was done. Raises what they raise."""
    sums = _sums(len(posts))
    done = Counter[str]()
    failed = list[BaseException]()
    ended = threading.Event()

    def work(what: Callable[[random.Random, Any], None], every: float) -> None:
        dice = random.Random()
        due = time.monotonic()
        try:
            while not ended.wait(max(0.0, due - time.monotonic())):
                due += every
                what(dice, dice.choices(posts, cum_weights=sums)[0])
                done[what.__name__] += 1
        except Exception as error:  # noqa: BLE001 - told at the end of the block
            failed.append(error)

    threads = [threading.Thread(target=work, args=one) for one in each.items()]
    for thread in threads:
        thread.start()
    try:
        yield done
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    if failed:
        raise failed[0]


def comment(dice: random.Random, post: Any) -> None:
    """Post a comment."""
    from marginalia.comments.posting import services
    from marginalia.comments.types import Author, Target

    text = "\n\n".join(dice.sample(content.SENTENCES, 2))
    target = Target("nodes.node", str(post))
    services.post(
        target, author=Author(f"Reader {dice.randrange(997)}"), source=text, token="".join(dice.choices(SIGNS, k=16))
    )


def save(dice: random.Random, post: Any) -> None:
    """Add a sentence at the end of a post."""
    from nodes.selectors import stored_nodes
    from nodes.services import editing
    from nodes.types import Actor

    stored = stored_nodes.get(post)
    assert stored is not None
    said = f"{stored.metadata.detail.text}\n\n{dice.choice(content.SENTENCES)}"
    editing.save(Actor(None, "Ada"), post, stored.metadata.nonce, {"detail.text": said})


def tag(dice: random.Random, post: Any) -> None:
    """Give a post a tag, or take it away."""
    from nodes.services import editing
    from nodes.types import TagChange

    name = frozenset({"bench"})
    editing.change_tags(post, dice.choice((TagChange(added=name), TagChange(removed=name))))
