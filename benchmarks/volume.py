"""Any number of posts and pages from ten years, for measurements. They are identical in every run."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from io import StringIO

from bson import ObjectId
from django.core.management import call_command

from benchmarks import bulk_nodes
from cms.demo.content import identifier
from marginalia.mongo.connection import database
from nodes.collections import NODES
from nodes.content import BasicPage, Blog, BlogEntry, Folder
from nodes.selectors import stored_nodes
from nodes.services import editing
from nodes.types import Actor

ROOT = "volume"
AUTHORS = tuple(Actor(None, name) for name in ("Ines Okafor", "Tomás Ferreira", "Jun Watanabe", "Ada Lindqvist"))
YEARS = 10
DRAFTS = 0.05
VOCABULARY = """
    paper ink margin letter page reader binding thread needle morning river train lamp window
    notebook sentence pencil garden bench winter harbour station kettle umbrella dictionary shelf corner street
    market violin clock ladder quiet narrow patient folded borrowed unfinished yellow careful distant ordinary
    stubborn familiar crooked gentle writes keeps forgets mends carries answers listens measures returns promises
    counts waits
"""
WORDS = VOCABULARY.split()
# Each node has two of these common tags, and one tag that it shares with SHARING nodes. A site with 100,000 nodes has
# 10,000 tags.
TAGS = tuple(f"topic-{number}" for number in range(1, 41))
SHARING = 10
# Number of posts in each blog, and number of pages in each folder.
POSTS_A_BLOG, PAGES_A_FOLDER = 4_000, 250


def load(count: int, moment: datetime, *, distinct: int | None = None) -> Iterator[int]:
    """Create `count` posts and pages in a ratio of four to one, and yield the number of new nodes after each batch.

    If `distinct` is given, further nodes are copies of the first `distinct` nodes, with places, dates, authors and tags
    of their own. `distinct` must be a multiple of five.
    """
    parents = list(_sections(count, moment))
    numbers = range(count)
    yield from bulk_nodes.insert(_row(number, parents, moment) for number in numbers[:distinct])
    if distinct is None or distinct >= count:
        return
    nodes = database()[NODES]
    originals = list(nodes.find({"_id": {"$in": [_id(number) for number in numbers[:distinct]]}}).sort("_id", 1))
    # Creating the indexes afterwards is faster than updating them for each node.
    nodes.drop_indexes()
    yield from bulk_nodes.insert_copies(
        originals, (_row(number, parents, moment, has_text=False) for number in numbers[distinct:])
    )
    call_command("setup_indexes", stdout=StringIO())


def _sections(count: int, moment: datetime) -> Iterator[tuple[ObjectId, str]]:
    """Create the sections, and repeatedly yield (id, type of its contents): a blog four times, then a folder once."""
    root = _section(ROOT, Folder.type_name, None, "Volume", moment)
    blogs = max(1, count * 4 // 5 // POSTS_A_BLOG)
    folders = max(1, count // 5 // PAGES_A_FOLDER)
    for number in range(max(blogs, folders)):
        blog = number % blogs + 1
        folder = number % folders + 1
        blog_id = _section(f"blog-{blog}", Blog.type_name, root, f"Volume blog {blog}", moment)
        folder_id = _section(f"folder-{folder}", Folder.type_name, root, f"Volume folder {folder}", moment)
        yield from [(blog_id, BlogEntry.type_name)] * 4 + [(folder_id, BasicPage.type_name)]


def _section(slug: str, type: str, parent_id: ObjectId | None, title: str, moment: datetime) -> ObjectId:
    section_id = identifier(f"volume {slug}")
    if stored_nodes.get(section_id) is None:
        published = moment - timedelta(days=366 * YEARS)
        editing.create(
            AUTHORS[0],
            type=type,
            parent_id=parent_id,
            slug=slug,
            title=title,
            fields={"published": published},
            node_id=section_id,
        )
    return section_id


def _row(
    number: int, parents: list[tuple[ObjectId, str]], moment: datetime, *, has_text: bool = True
) -> bulk_nodes.Row:
    chance = random.Random(number)
    parent_id, type = parents[number % len(parents)]
    title = " ".join(chance.choices(WORDS, k=4)).capitalize()
    published = moment - timedelta(seconds=chance.randrange(YEARS * 365 * 86_400))
    return bulk_nodes.Row(
        id=_id(number),
        author=chance.choice(AUTHORS),
        type=type,
        parent_id=parent_id,
        slug=f"{title.lower().replace(' ', '-')}-{number}",
        title=title,
        published=None if chance.random() < DRAFTS else published,
        created=published,
        tags=tuple(sorted([*chance.sample(TAGS, 2), f"note-{number // SHARING + 1}"])),
        text=_text(chance) if has_text else "",
    )


def _text(chance: random.Random) -> str:
    return "\n\n".join(" ".join(chance.choices(WORDS, k=40)).capitalize() + "." for _ in range(3))


def _id(number: int) -> ObjectId:
    """Return a node's id. It contains a time in 1985 and the number, so that a repeated run finds the same nodes."""
    return ObjectId(b"\x1d\x00\x00\x00demo" + number.to_bytes(4))
