"""The demo's pages: Markdown files whose folders are the sections. Each file begins with `name: value` lines."""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath

from bson import ObjectId

from nodes import content
from nodes.content import BasicPage, Blog, BlogEntry

FOLDER = Path(__file__).parent / "content"
SECTION_FILE = "_section"
# The magazine's authors, and the moderator of its discussions.
PEOPLE = ("Ines Okafor", "Ada Lindqvist", "Tomás Ferreira", "Jun Watanabe", "Lena Brandt")
# Matches a reference to a node or photo in the demo. Loading the demo replaces the path in the reference with an id.
_PATH = re.compile(r"\b(node|photo):demo:([\w/-]+)")


@dataclass(frozen=True)
class Item:
    """A node in the demo.

    Attributes:
        path: The path that identifies the node, for example "essays/on-lists".
        days: The node's age in days when the demo is loaded, or None for a draft.
    """

    path: PurePosixPath
    type: str
    title: str
    summary: str
    author: str
    tags: tuple[str, ...]
    days: float | None
    text: str
    # The path of the node's photo, or "" if the node has no photo.
    picture: str = ""
    is_pinned: bool = False

    @property
    def id(self) -> ObjectId:
        return identifier(str(self.path))

    @property
    def parent_id(self) -> ObjectId | None:
        above = str(self.path.parent)
        return None if above == "." else identifier(above)

    @property
    def is_section(self) -> bool:
        return content.get(self.type).is_section

    def published(self, moment: datetime) -> datetime | None:
        """Return the time at which the node counts as published in a demo loaded at `moment`, or None for a draft."""
        return None if self.days is None else moment - timedelta(days=self.days)


def identifier(path: str) -> ObjectId:
    """Return the id of the demo's node at a path.

    The id never changes, so that loading the demo twice doesn't create duplicates.
    """
    return ObjectId(hashlib.sha256(f"marginalia demo {path}".encode()).digest()[:12])


def account(name: str) -> ObjectId | None:
    """Return the account id of one of PEOPLE, or None for any other name.

    No one can log in with these accounts.
    """
    return identifier(f"account {name}") if name in PEOPLE else None


def items() -> list[Item]:
    """Return all nodes in the demo. Each section comes before its contents."""
    found = [_read(file) for file in FOLDER.rglob("*.md")]
    sections = {item.path: item.type for item in found}
    typed = [item if item.type else _typed(item, sections.get(item.path.parent)) for item in found]
    return sorted(typed, key=lambda item: (len(item.path.parts), item.path))


def _typed(item: Item, parent_type: str | None) -> Item:
    return Item(**{**item.__dict__, "type": (BlogEntry if parent_type == Blog.type_name else BasicPage).type_name})


def _read(file: Path) -> Item:
    head, _, text = file.read_text(encoding="utf-8").partition("\n\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    path = PurePosixPath(file.relative_to(FOLDER).with_suffix("").as_posix())
    days = fields["days"]
    return Item(
        path=path.parent if path.name == SECTION_FILE else path,
        type=fields.get("type", ""),
        title=fields["title"],
        summary=fields.get("summary", ""),
        author=fields.get("author", "Marginalia"),
        tags=tuple(tag.strip() for tag in fields.get("tags", "").split(",") if tag.strip()),
        days=None if days == "draft" else float(days),
        text=_PATH.sub(lambda found: f"{found[1]}:{identifier(found[2])}", text.strip()),
        picture=fields.get("picture", ""),
        is_pinned=fields.get("pinned") == "yes",
    )
