"""Create the demo's discussions with the import service, which backdates comments and adds each of them only once."""

import tomllib
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

from cms.demo.content import Item, account
from marginalia.comments import slugs
from marginalia.comments.operations import importing, maintenance
from marginalia.comments.posting import preparation, services
from marginalia.comments.types import CommentAuthor, NewComment, Order, Target
from nodes.models import Node

# Discussions whose layout and order differ from the settings, as if an operator had converted them.
CONVERTED = {
    PurePosixPath("essays/the-wide-margin"): ("buckets", Order.THREADED),
    PurePosixPath("field-notes/night-train"): ("buckets", Order.OLDEST),
    PurePosixPath("workshop/a-pamphlet-in-an-hour"): ("embedded", Order.THREADED),
}

# The moderator. Comments by this account are marked as written by a moderator. Comments by a page's author are marked
# as written by the author.
MODERATOR = "Lena Brandt"

FILE = Path(__file__).parent / "discussions.toml"


def discussions() -> dict[PurePosixPath, list[dict[str, Any]]]:
    """Return the comments in `discussions.toml`, keyed by the path of the node that they are about."""
    return {PurePosixPath(path): rows for path, rows in tomllib.loads(FILE.read_text(encoding="utf-8")).items()}


def discuss(item: Item, rows: list[dict[str, Any]], moment: datetime) -> int:
    """Add the comments on an item if the item is public at `moment`, and return the number of new comments."""
    began = item.published(moment)
    if not rows or began is None or began > moment:
        return 0
    target = Target(Node._meta.label_lower, str(item.id))
    public = [row for row in rows if not row.get("held")]
    for row in (row for row in rows if row.get("held")):
        token = f"demo {item.path} {row['by']}"
        services.hold(target, reasons=row["held"], author=CommentAuthor(row["by"]), source=row["text"], token=token)
    comments = list(_comments(item, public, began, moment))
    added = importing.import_(target, comments)
    likes = {importing.slug_of(new): row.get("likes", 0) for new, row in zip(comments, public, strict=True)}
    importing.import_likes(target, likes)
    if item.path in CONVERTED:
        maintenance.convert(target, *CONVERTED[item.path])
    return added


def _author(name: str) -> CommentAuthor:
    known = account(name)
    return CommentAuthor(name, str(known) if known else None, is_moderator=name == MODERATOR)


def _comments(item: Item, rows: list[dict[str, Any]], began: datetime, moment: datetime) -> Iterator[NewComment]:
    paths: list[str] = []
    for number, row in enumerate(rows, 1):
        token = f"demo {item.path} {number}"
        parent = paths[row["to"] - 1] if "to" in row else ""
        paths.append(slugs.join(parent, slugs.part(token)))
        yield NewComment(
            author=_author(row["by"]),
            source=row["text"],
            html=preparation.render(row["text"]),
            token=token,
            parent=parent,
            posted=min(began + timedelta(hours=row["hours"]), moment),
        )
