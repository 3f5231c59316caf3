"""Conversion between Python objects and stored documents. A comment has the same document in every layout."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson import Int64, ObjectId

from marginalia.comments import conf, slugs
from marginalia.comments.errors import DiscussionDamaged, InvalidParent
from marginalia.comments.types import (
    Comment,
    CommentAuthor,
    Discussion,
    HeldComment,
    Kind,
    NewComment,
    Order,
    ReplacedComment,
    Restrictions,
    State,
    Target,
    Verdict,
)
from marginalia.mongo.reading import MALFORMED, Malformed, read_documents

Document = dict[str, Any]

# The version of a discussion whose comments readers have never seen change. Its first comment waits for a moderator, for
# example.
UNCHANGED = ObjectId("0" * 24)
ERASED = {"id": None, "name": "", "url": ""}
# The values that turn a comment into a tombstone.
BLANK: Document = {"state": State.REMOVED.value, "author": ERASED, "source": "", "html": "", "said": "", "edited": None}
# The fields that a change can replace. If a comment is changed during a conversion, these fields are copied again.
CHANGING = ("author", "source", "html", "said", "state", "edited", "rev", "change", "op")
FIELDS = ("slug", "full_slug", "number", "posted", "parent_id", "answers", "kind", *CHANGING)


@dataclass(frozen=True)
class Place:
    """The location of one copy of a discussion, as read from the discussion document or from a claim."""

    target: Target
    layout: str
    order: Order
    epoch: int
    bucket: int


@dataclass(frozen=True)
class Storage:
    """The storage settings for new discussions on the objects of one model.

    Attributes:
        layout: The name of the layout. In stored documents, the field is called "schema".
        order: The order in which comments are stored.
        shown: The order in which comments are shown by default.
        bucket: The number of comments per bucket.
    """

    layout: str
    order: Order
    shown: Order
    bucket: int


def author_document(author: CommentAuthor, email: str, extra: Mapping[str, Any]) -> Document:
    """Return the document for an author. The fields that only few authors need are left out if they are empty.

    The document also contains the values of a project's own form fields, because they are erased, removed and restored
    together with the author's data.
    """
    stored: Document = {"id": author.id, "name": author.name, "url": author.url}
    if author.is_moderator:
        stored["moderator"] = True
    if author.picture:
        stored["picture"] = author.picture
    if email:
        stored["email"] = email.lower()  # so that queries by email address are case-insensitive
    if extra:
        stored["extra"] = dict(extra)
    return stored


def read_author(document: Mapping[str, Any]) -> CommentAuthor:
    """Convert an author document to an author, without the email address."""
    return CommentAuthor(
        document["name"],
        document["id"],
        document["url"],
        document.get("moderator", False),
        document.get("picture", ""),
    )


def content_document(new: NewComment) -> Document:
    """Return the fields of a comment that don't depend on its position in the discussion."""
    removed = new.state is State.REMOVED
    return {
        "kind": new.kind.value,
        "author": dict(ERASED) if removed else author_document(new.author, new.email, new.extra),
        "source": "" if removed else new.source,
        "html": "" if removed else new.html,
        "said": "" if removed else new.text_hash,
        "state": new.state.value,
        "edited": new.edited,
        "rev": 1,
        "change": None,
        "op": None,
    }


def comment_document(
    content: Document, slug: str, number: int, posted: datetime, parent_comment: Mapping[str, Any] | None = None
) -> Document:
    """Return the document for a new comment: its position in the discussion, and the fields in `content`.

    `parent_comment` is the stored comment that the new comment replies to. If `parent_comment` is already at the
    deepest level, the new comment is stored at the same level, and its `answers` contains the slug of `parent_comment`.
    """
    parent = slugs.parent_of(slug)
    parent_path = ""
    if parent and parent_comment:
        parent_path = "/".join(parent_comment["full_slug"].split("/")[: parent.count("/") + 1])
    own_part = f"{slugs.stamp(posted)}:{slug.rpartition('/')[2]}"
    return {
        "slug": slug,
        "full_slug": slugs.join(parent_path, own_part),
        "number": Int64(number),
        "posted": posted,
        "parent_id": parent or None,
        "answers": parent_comment["slug"] if parent_comment and parent_comment["slug"] != parent else None,
        **content,
    }


def read_comment(target: Target, document: Mapping[str, Any]) -> Comment:
    """Convert a document to a comment."""
    # To save time, use positional arguments, and look up enum members in dictionaries instead of calling the enums.
    # This code runs for each comment on a page, about 100 times per request.
    above = document["parent_id"] or ""
    return Comment(
        target,
        document["slug"],
        document["full_slug"],
        int(document["number"]),
        document["posted"],
        above,
        document["answers"] or above,
        read_author(document["author"]),
        document["source"],
        document["html"],
        _KINDS[document["kind"]],
        _STATES[document["state"]],
        int(document["rev"]),
        document["edited"],
        document["said"],
        document["author"].get("extra", {}),
    )


_KINDS = {kind.value: kind for kind in Kind}
_STATES = {state.value: state for state in State}
_TEXT = (str,)
# The fields that a stored comment has in every layout, and the types of their values.
_FORM: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("slug", "full_slug", "source", "html", "said"), _TEXT),
    **dict.fromkeys(("number", "rev"), (int,)),
    **dict.fromkeys(("parent_id", "answers", "op"), (str, type(None))),
    "posted": (datetime,),
    "edited": (datetime, type(None)),
    "change": (ObjectId, type(None)),
    "author": (Mapping,),
}
_AUTHOR_FORM: dict[str, tuple[type, ...]] = {"id": (str, type(None)), "name": _TEXT, "url": _TEXT}


_HELD_FORM: dict[str, tuple[type, ...]] = {
    "created": (datetime,),
    "reasons": (list,),
    "decided_by": _TEXT,
    "decided": (datetime, type(None)),
}


def check_comment(document: Any) -> Document:
    """Check the format of a stored comment, and return the comment unchanged.

    Raises:
        Malformed: A field is missing or has the wrong type.
    """
    if not isinstance(document, dict):
        raise Malformed("it is not a document")
    _check(document, _FORM)
    _check(document["author"], _AUTHOR_FORM)
    if not slugs.is_slug(document["slug"]):
        raise Malformed("slug is not a valid slug")
    if document.get("kind") not in _KINDS or document.get("state") not in _STATES:
        raise Malformed(f"kind {document.get('kind')!r} or state {document.get('state')!r} is unknown")
    return document


def _check(document: Mapping[str, Any], form: Mapping[str, tuple[type, ...]]) -> None:
    for name, classes in form.items():
        if not isinstance(document.get(name, ...), classes):
            raise Malformed(f"{name} is missing or has another type")


def readable_comments(collection: str, documents: Iterable[Any]) -> list[Document]:
    """Return the well-formed comments. Log the malformed ones."""
    return list(read_documents(collection, documents, check_comment))


@contextmanager
def _raise_if_damaged(document: Mapping[str, Any]) -> Iterator[None]:
    """Convert an error in the `with` block, which reads `document`, to DiscussionDamaged."""
    try:
        yield
    except MALFORMED as error:
        reason = f"its document is damaged ({type(error).__name__}: {error})"
        raise DiscussionDamaged(f"{Target.from_id(document['_id'])}: {reason}") from error


def read_version(stored: object) -> str:
    """Return the version of a discussion, or "" if readers see the same as before it began."""
    return "" if stored == UNCHANGED else str(stored)


def read_discussion(document: Mapping[str, Any]) -> Discussion:
    """Convert a document to a discussion.

    Raises:
        DiscussionDamaged: A field is missing or malformed.
    """
    with _raise_if_damaged(document):
        return Discussion(
            target=Target.from_id(document["_id"]),
            layout=document["schema"],
            order=Order(document["order"]),
            open=document["state"] == "open",
            begun=True,
            count=int(document["count"]),
            last_number=int(document["last_number"]),
            version=read_version(document["version"]),
            epoch=int(document["epoch"]),
            moving=(document.get("moving") or {}).get("to", ""),
            writing=bool(document.get("claims")),
            restrictions=_read_restrictions(document.get("restrictions", {})),
            has_likes=bool(document.get("has_likes", False)),
        )


def _read_restrictions(stored: Mapping[str, Any]) -> Restrictions:
    known = {name: stored[name] for name in ("slow_seconds", "hold_until", "pinned") if name in stored}
    begin, end = stored.get("hours") or (0, 0)
    return Restrictions(
        **known, hours=(int(begin), int(end)) if stored.get("hours") else None, locked=tuple(stored.get("locked", ()))
    )


def read_place(document: Mapping[str, Any]) -> Place:
    """Return the place of the current copy of a discussion.

    Raises:
        DiscussionDamaged: A field is missing or malformed.
    """
    with _raise_if_damaged(document):
        return Place(
            Target.from_id(document["_id"]),
            document["schema"],
            Order(document["order"]),
            int(document["epoch"]),
            int(document["bucket"]),
        )


def read_held(document: Mapping[str, Any]) -> HeldComment:
    """Convert a document to a queued comment.

    Raises:
        ValueError, KeyError, TypeError: The document is malformed.
    """
    _check(document, _FORM | _HELD_FORM)
    _check(document["author"], _AUTHOR_FORM)
    return HeldComment(
        id=str(document["_id"]),
        target=Target.from_id(document["discussion_id"]),
        slug=document["slug"],
        parent=document["answers"] or document["parent_id"] or "",
        number=int(document["number"]),
        posted=document["posted"],
        author=read_author(document["author"]),
        email=document["author"].get("email", ""),
        source=document["source"],
        html=document["html"],
        kind=Kind(document["kind"]),
        verdict=Verdict(document["state"]),
        reasons=tuple(document["reasons"]),
        decided_by=document["decided_by"],
        decided=document["decided"],
        rev=1 + int(document.get("edits", 0)),
        settled=bool(document.get("settled", False)),
        text_hash=document["said"],
        extra=document["author"].get("extra", {}),
    )


def read_replaced(document: Mapping[str, Any]) -> ReplacedComment:
    """Convert a history document to the previous version of a comment."""
    target = Target.from_id(document["discussion_id"])
    return ReplacedComment(read_comment(target, check_comment(document)), document["at"], document["by"])


def slug_of(new: NewComment) -> str:
    """Return the slug that a new comment will have.

    Raises:
        InvalidParent: The comment's `parent` is not a valid slug.
    """
    if new.parent and not slugs.is_slug(new.parent):
        raise InvalidParent(new.parent)
    return new.slug or slugs.from_token(new.token, new.parent, conf.get("MAX_DEPTH"))
