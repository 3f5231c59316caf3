"""The records of a WordPress export, as frozen values. No repr contains an email address, so no log or traceback does."""

from dataclasses import dataclass, field
from datetime import datetime


class WxrError(ValueError):
    """The file is not a WordPress export, or it is broken or dangerous. `line` starts at 1, `reason` is one clause."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Site:
    """The exported site. `url`: its front page, without a trailing slash."""

    title: str
    url: str
    version: str


@dataclass(frozen=True, slots=True)
class ExportedAuthor:
    """An author of posts, identified by login. WordPress also exports the email address, which the reader skips."""

    login: str
    name: str


@dataclass(frozen=True, slots=True)
class Term:
    """A category or tag. `taxonomy`: "category", "post_tag" or the name of another taxonomy."""

    taxonomy: str
    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on an item.

    `status`: "approved", "pending", "spam" or "trash". `kind`: "comment" or WordPress's name for another kind
    ("pingback", "trackback", …). `posted`: in UTC, None without a usable date.
    """

    id: int
    parent: int
    author: str
    email: str = field(repr=False)
    url: str
    posted: datetime | None
    text: str
    status: str
    kind: str

    @property
    def is_ping(self) -> bool:
        """Return whether this is a notice from another site, not a reader's comment."""
        return self.kind in ("pingback", "trackback")


@dataclass(frozen=True, slots=True)
class Item:
    """A post, a page or any other item except attachments.

    `type`, `status`: WordPress's own names. Times are in UTC; `posted` is None without a usable date. `protected`:
    WordPress asked for a password. `picture`: the id of the featured image, 0 without one. `footnotes`: those of the
    block editor, as JSON. `custom`: the names of custom fields with a value.
    """

    id: int
    type: str
    status: str
    protected: bool
    parent: int
    slug: str
    title: str
    link: str
    guid: str
    author: str
    posted: datetime | None
    modified: datetime | None
    body: str
    excerpt: str
    comments_open: bool
    terms: tuple[Term, ...]
    comments: tuple[Comment, ...]
    picture: int
    footnotes: str
    custom: tuple[str, ...]
    sticky: bool
    line: int

    @property
    def is_public(self) -> bool:
        """Return whether every visitor of the old site could read the item."""
        return self.status == "publish" and not self.protected


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of the media library.

    `file`: its path below the uploads folder, "" if the export does not contain it. `status`: "inherit" means that the
    status of the post counts to which the file was uploaded.
    """

    id: int
    status: str
    parent: int
    slug: str
    title: str
    link: str
    url: str
    file: str
    alt: str
    caption: str
    posted: datetime | None
    line: int


Record = Site | ExportedAuthor | Term | Item | Attachment
