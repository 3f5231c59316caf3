"""What a WordPress export holds, as frozen values. No repr shows an e-mail address, so no log or traceback does."""

from dataclasses import dataclass, field
from datetime import datetime


class WxrError(ValueError):
    """The file is no WordPress export, is broken or is dangerous. `line` counts from 1, `reason` is one clause."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Site:
    """The exported site. `url` is its front page, without a trailing slash."""

    title: str
    url: str
    version: str


@dataclass(frozen=True, slots=True)
class Author:
    """The author of posts, known by login. WordPress exports the e-mail address too; the reader skips it."""

    login: str
    name: str


@dataclass(frozen=True, slots=True)
class Term:
    """A category or tag. `taxonomy` is "category", "post_tag" or another's own name."""

    taxonomy: str
    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on the item that holds it. `status` is "approved", "pending", "spam" or "trash"; `kind` is "comment" or
    what WordPress calls it ("pingback", "trackback", …). `posted` is aware UTC, None when no usable date is given."""

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
        """True for a notice from another site rather than a reader's words."""
        return self.kind in ("pingback", "trackback")


@dataclass(frozen=True, slots=True)
class Item:
    """A post, page or anything else that is no attachment. `type` and `status` are WordPress's own words. Times are
    aware UTC; `posted` is None when no usable date is given. `protected` says that WordPress asked for a password. `picture` is
    the id of its featured image, 0 without one; `footnotes` are those of the block editor, as JSON; `custom` names the custom
    fields that have a value."""

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
        """True when every visitor of the old site could read it."""
        return self.status == "publish" and not self.protected


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of the media library. `file` is its path below the uploads folder where the export names it, else ""; `status`
    "inherit" leaves it to what the file was uploaded to."""

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


Record = Site | Author | Term | Item | Attachment
