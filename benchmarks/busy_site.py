"""A busy site: its posts and comments, the URLs that readers request, and its writers."""

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
# Number of seconds between two writes of the same kind.
COMMENT_EVERY = 0.2
SAVE_EVERY = 5.0
TAG_EVERY = 20.0
BATCH = 5_000
SIGNS = "abcdefghijklmnopqrstuvwxyz234567"
_rendered: dict[str, str] = {}


def ranked_posts() -> tuple[list[Any], list[float]]:
    """Return the ids of the posts, most popular first, and their cumulative weights for reading and writing."""
    from marginalia.mongo.clock import now
    from marginalia.mongo.connection import database
    from nodes.models import tree

    blogs = [section.id for section in tree.current().sections.values() if section.slug.startswith("blog-")]
    public = {"metadata.parent_id": {"$in": blogs}, "metadata.published": {"$lte": now()}}
    nodes = database()["cms.nodes"].find(public, {"_id": 1}).sort("_id", 1).limit(POSTS)
    ids = [node["_id"] for node in nodes]
    random.Random(1).shuffle(ids)
    return ids, _cumulative_weights(len(ids))


def _cumulative_weights(count: int) -> list[float]:
    return list(accumulate(1 / rank for rank in range(1, count + 1)))


def add_comments(counts: Sequence[int] = ()) -> None:
    """Insert comments on the posts, with the same documents that posting would create.

    Args:
        counts: The number of comments on each post. By default, it is proportional to the post's popularity.
    """
    from bson import Int64

    from marginalia.comments.backends.discussions import new_document
    from marginalia.comments.backends.mongodb import MongoBackend
    from marginalia.comments.types import Order, Target
    from marginalia.mongo.clock import now
    from marginalia.mongo.indexes import planning

    store = MongoBackend().store
    db = store.db
    (posts, sums) = ranked_posts()
    discussions: list[dict[str, Any]] = []
    batch: list[tuple[Target, dict[str, Any]]] = []
    # Building this index at the end takes less time than adding the terms of each comment.
    store.catalogue.stored.drop_index("by_term")
    counts = counts or [max(1, round(COMMENTS / sums[-1] / rank)) for rank in range(1, len(posts) + 1)]
    for post, count in zip(posts, counts, strict=True):
        target = Target("nodes.node", str(post))
        document = new_document(target, "documents", Order.THREADED, 100)
        own = {"discussion_id": document["_id"], "epoch": document["epoch"]}
        comments = [own | comment for comment in _comments(count, now() - timedelta(seconds=30 * count))]
        batch += [(target, comment) for comment in comments]
        last = {"last_posted": comments[-1]["posted"], "newest": comments[-1]["posted"]}
        discussions.append({**document, "count": count, "last_number": Int64(count), **last})
        while len(batch) >= BATCH or (batch and post == posts[-1]):
            db.comments.insert_many([comment for _target, comment in batch[:BATCH]], ordered=False)
            store.catalogue.note_new(batch[:BATCH])
            del batch[:BATCH]
    db.discussions.insert_many(discussions, ordered=False)
    planning.ensure()


def _comments(count: int, start: datetime) -> Iterator[dict[str, Any]]:
    """Yield comment documents in chronological order. Half of them are replies to one of the previous ten comments."""
    from marginalia.comments import slugs
    from marginalia.comments.backends.stored import comment_document, content_document
    from marginalia.comments.posting import preparation
    from marginalia.comments.types import CommentAuthor, NewComment

    generator = random.Random(count)
    recent = list[dict[str, Any]]()
    for number in range(1, count + 1):
        source = "\n\n".join(generator.choices(content.SENTENCES, k=2))
        html = _rendered.get(source) or _rendered.setdefault(source, preparation.render(source))
        new = NewComment(CommentAuthor(f"Reader {number % 997}"), source, html, f"bench {number}")
        parent = generator.choice(recent) if recent and generator.random() < 0.5 else None
        if parent and parent["slug"].count("/") > 5:
            parent = None
        slug = slugs.join(parent["slug"] if parent else "", slugs.part(new.token))
        document = comment_document(content_document(new), slug, number, start + timedelta(seconds=30 * number), parent)
        recent = [*recent[-9:], document]
        yield document


def public_paths() -> list[str]:
    """Return the paths that readers request, most popular first.

    The home page comes first, followed by the posts by rank. All other pages are at random places among the posts.
    """
    from benchmarks.volume import TAGS
    from marginalia.mongo.clock import now
    from nodes.models import tree
    from nodes.selectors import stored_nodes

    sections = tree.current()
    posts = ranked_posts()[0]
    nodes = {node.pk: node for node in stored_nodes.whole_by_ids(posts, now())}
    containers = [section for section in sections.sections.values() if section.slug.startswith(("blog-", "folder-"))]
    lists = [sections.url(section.parent_id, section.slug) for section in containers]
    tags = [f"/tag/{name}" for name in TAGS]
    authors = sorted({node.metadata.author.get_absolute_url() for node in nodes.values()})
    feeds = [
        "/feed/atom",
        *(f"{path}/feed/atom" for path in lists if "/blog-" in path),
        *(f"{tag}/feed/rss" for tag in tags),
    ]
    paths = [nodes[post].get_absolute_url() for post in posts]
    generator = random.Random(2)
    for other in (*lists, *tags, *authors, *feeds, content.publish_photo()):
        paths.insert(generator.randrange(len(paths) + 1), other)
    return ["/", *paths]


def writers() -> AbstractContextManager[Counter[str]]:
    """Comment, save and tag during the block, and yield a counter of the writes."""
    return repeat_on_posts(ranked_posts()[0], {comment: COMMENT_EVERY, save: SAVE_EVERY, tag: TAG_EVERY})


@contextmanager
def repeat_on_posts(
    posts: Sequence[Any], intervals: Mapping[Callable[[random.Random, Any], None], float]
) -> Iterator[Counter[str]]:
    """Call each function repeatedly with a random post during the block, and yield a counter of calls by function name.

    Popular posts are chosen more often. If a function raises an exception, it is raised again at the end of the block.

    Args:
        posts: The ids of the posts, most popular first.
        intervals: The number of seconds between two calls, by function.
    """
    weights = _cumulative_weights(len(posts))
    counts = Counter[str]()
    errors = list[BaseException]()
    stopping = threading.Event()

    def work(write: Callable[[random.Random, Any], None], interval: float) -> None:
        generator = random.Random()
        due = time.monotonic()
        try:
            while not stopping.wait(max(0.0, due - time.monotonic())):
                due += interval
                write(generator, generator.choices(posts, cum_weights=weights)[0])
                counts[write.__name__] += 1
        except Exception as error:  # noqa: BLE001 - raised again at the end of the block
            errors.append(error)

    threads = [threading.Thread(target=work, args=item) for item in intervals.items()]
    for thread in threads:
        thread.start()
    try:
        yield counts
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


def comment(generator: random.Random, post: Any) -> None:
    """Post a comment."""
    from marginalia.comments.posting import services
    from marginalia.comments.types import CommentAuthor, Target

    text = "\n\n".join(generator.sample(content.SENTENCES, 2))
    target = Target("nodes.node", str(post))
    services.post(
        target,
        author=CommentAuthor(f"Reader {generator.randrange(997)}"),
        source=text,
        token="".join(generator.choices(SIGNS, k=16)),
    )


def save(generator: random.Random, post: Any) -> None:
    """Append a sentence to a post."""
    from nodes.selectors import stored_nodes
    from nodes.services import editing
    from nodes.types import Actor

    stored = stored_nodes.get(post)
    assert stored is not None
    text = f"{stored.metadata.detail.text}\n\n{generator.choice(content.SENTENCES)}"
    editing.save(Actor(None, "Ada"), post, stored.metadata.nonce, {"detail.text": text})


def tag(generator: random.Random, post: Any) -> None:
    """Add a tag to a post, or remove it if the post has it."""
    from nodes.services import editing
    from nodes.types import TagChange

    name = frozenset({"bench"})
    editing.change_tags(post, generator.choice((TagChange(added=name), TagChange(removed=name))))
