"""The records of a WordPress export, as immutable values.

repr() leaves out email addresses, so that logs never contain them.
"""

from dataclasses import dataclass, field
from datetime import datetime

from django.utils.translation import gettext as _


class WxrError(ValueError):
    """The file is not a WordPress export, or it is damaged or dangerous.

    Attributes:
        line: The line number, beginning with 1.
        reason: The reason, as a clause such as "the file is empty".
    """

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(_("line %(line)d: %(reason)s") % {"line": line, "reason": reason})
        self.line = line
        self.reason = reason


class DamagedExport(WxrError):
    """The file is damaged, but everything before the error can be imported."""


@dataclass(frozen=True, slots=True)
class Site:
    """The site that was exported.

    Attributes:
        url: The URL of the front page, without a trailing slash.
    """

    title: str
    url: str
    version: str


@dataclass(frozen=True, slots=True)
class ExportedAuthor:
    """An author of posts, identified by login. The author's email address is not read."""

    login: str
    name: str


@dataclass(frozen=True, slots=True)
class Term:
    """A category or tag.

    Attributes:
        taxonomy: "category", "post_tag" or the name of another taxonomy.
    """

    taxonomy: str
    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on an item.

    Attributes:
        status: "approved", "pending", "spam" or "trash".
        kind: "comment", or another kind with the name that WordPress uses, such as "pingback" or "trackback".
        posted: The time in UTC, or None if there is no valid date.
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
        """Return whether this is a notification from another site, not a reader's comment."""
        return self.kind in ("pingback", "trackback")


@dataclass(frozen=True, slots=True)
class Item:
    """A post, a page, or any other item that is not an attachment. All times are in UTC.

    Attributes:
        type: WordPress's name for the type.
        status: WordPress's name for the status.
        posted: The time of publication, or None if there is no valid date.
        protected: Whether WordPress required a password to show the item.
        picture: The id of the featured image, or 0 if there is none.
        footnotes: The footnotes that the block editor stored, as JSON.
        custom: The names of those custom fields that have a value and should be reported.
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
        """Return whether all visitors to the old site could read the item."""
        return self.status == "publish" and not self.protected


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in the media library.

    Attributes:
        file: The path of the file below the uploads folder, or "" if the export does not contain this path.
        status: WordPress's name for the status. "inherit" means that the file has the status of the post that it was
            uploaded to.
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
