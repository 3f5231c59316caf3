"""Between values and documents: the one shape in which a comment is stored, whatever the layout."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson import Int64, ObjectId

from marginalia.comments import conf, slugs
from marginalia.comments.errors import DiscussionDamaged, InvalidParent
from marginalia.comments.types import (
    Author,
    Comment,
    Discussion,
    Held,
    Kind,
    NewComment,
    Order,
    Replaced,
    State,
    Target,
    Verdict,
)
from marginalia.mongo.reading import MALFORMED, Malformed, read_documents

Document = dict[str, Any]

ERASED = {"id": None, "name": "", "url": ""}
# What a tombstone says.
BLANK: Document = {"state": State.REMOVED.value, "author": ERASED, "source": "", "html": "", "said": "", "edited": None}
# What a change may replace, and a conversion carries over from a newer revision.
CHANGING = ("author", "source", "html", "said", "state", "edited", "rev", "change", "op")
FIELDS = ("slug", "full_slug", "number", "posted", "parent_id", "answers", "kind", *CHANGING)


@dataclass(frozen=True)
class Place:
    """Where one copy of a discussion is: read from its document, or taken with a claim."""

    target: Target
    layout: str
    order: Order
    epoch: int
    bucket: int


@dataclass(frozen=True)
class Storage:
    """The layout and native order of new discussions of one label, the size of their buckets, and the order shown by default.

    Stored documents call the layout "schema", as MongoDB's case study does.
    """

    layout: str
    order: Order
    shown: Order
    bucket: int


def author_document(author: Author, email: str) -> Document:
    """Return an author as stored; the address is left out where there is none, and what few are."""
    stored: Document = {"id": author.id, "name": author.name, "url": author.url}
    if author.is_moderator:
        stored["moderator"] = True
    if email:
        stored["email"] = email.lower()  # it may be asked for in other letters
    return stored


def author(document: Mapping[str, Any]) -> Author:
    """Return who wrote, without the address."""
    return Author(document["name"], document["id"], document["url"], document.get("moderator", False))


def body(new: NewComment) -> Document:
    """Return what is known of a comment before it has its place."""
    removed = new.state is State.REMOVED
    return {
        "kind": new.kind.value,
        "author": dict(ERASED) if removed else author_document(new.author, new.email),
        "source": "" if removed else new.source,
        "html": "" if removed else new.html,
        "said": "" if removed else new.said,
        "state": new.state.value,
        "edited": new.edited,
        "rev": 1,
        "change": None,
        "op": None,
    }


def placed(
    content: Document, slug: str, number: int, posted: datetime, answered: Mapping[str, Any] | None = None
) -> Document:
    """Return a comment's document: `content` in its place. `answered` is the stored comment that it replies to, if any.

    Where that lies at the deepest level, the comment is kept beside it, and says whom it answers.
    """
    parent = slugs.parent_of(slug)
    above = ""
    if parent and answered:
        above = "/".join(answered["full_slug"].split("/")[: parent.count("/") + 1])
    own = f"{slugs.stamp(posted)}:{slug.rpartition('/')[2]}"
    return {
        "slug": slug,
        "full_slug": slugs.join(above, own),
        "number": Int64(number),
        "posted": posted,
        "parent_id": parent or None,
        "answers": answered["slug"] if answered and answered["slug"] != parent else None,
        **content,
    }


def comment(target: Target, document: Mapping[str, Any]) -> Comment:
    """Return the value that a stored comment is."""
    # A page makes a hundred of these: by position, and without the enums' own look-up.
    above = document["parent_id"] or ""
    return Comment(
        target,
        document["slug"],
        document["full_slug"],
        int(document["number"]),
        document["posted"],
        above,
        document["answers"] or above,
        author(document["author"]),
        document["source"],
        document["html"],
        _KINDS[document["kind"]],
        _STATES[document["state"]],
        int(document["rev"]),
        document["edited"],
        document["said"],
    )


_KINDS = {kind.value: kind for kind in Kind}
_STATES = {state.value: state for state in State}
_TEXT = (str,)
# The fields of every stored comment, whatever its layout, and the classes of their values.
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


def checked(document: Any) -> Document:
    """Return a stored comment that has the form of one. Raises Malformed."""
    if not isinstance(document, dict):
        raise Malformed("it is no document")
    _check(document, _FORM)
    _check(document["author"], _AUTHOR_FORM)
    if not slugs.is_slug(document["slug"]):
        raise Malformed("slug can't be one")
    if document.get("kind") not in _KINDS or document.get("state") not in _STATES:
        raise Malformed(f"kind {document.get('kind')!r} or state {document.get('state')!r} is unknown")
    return document


def _check(document: Mapping[str, Any], form: Mapping[str, tuple[type, ...]]) -> None:
    for name, classes in form.items():
        if not isinstance(document.get(name, ...), classes):
            raise Malformed(f"{name} is missing or has another type")


def whole(collection: str, documents: Iterable[Any]) -> list[Document]:
    """Return those of some stored comments that have the form of one; log the others."""
    return list(read_documents(collection, documents, checked))


@contextmanager
def _if_whole(document: Mapping[str, Any]) -> Iterator[None]:
    """Raise DiscussionDamaged for what a discussion's document lacks."""
    try:
        yield
    except MALFORMED as error:
        reason = f"its document is damaged ({type(error).__name__}: {error})"
        raise DiscussionDamaged(f"{Target.of_id(document['_id'])}: {reason}") from error


def discussion(document: Mapping[str, Any]) -> Discussion:
    """Return the value that a stored discussion is. Raises DiscussionDamaged."""
    with _if_whole(document):
        return Discussion(
            target=Target.of_id(document["_id"]),
            layout=document["schema"],
            order=Order(document["order"]),
            open=document["state"] == "open",
            begun=True,
            count=int(document["count"]),
            last_number=int(document["last_number"]),
            version=str(document["version"]),
            epoch=int(document["epoch"]),
            moving=(document.get("moving") or {}).get("to", ""),
            writing=bool(document.get("claims")),
        )


def place(document: Mapping[str, Any]) -> Place:
    """Return where a stored discussion's comments are. Raises DiscussionDamaged."""
    with _if_whole(document):
        return Place(
            Target.of_id(document["_id"]),
            document["schema"],
            Order(document["order"]),
            int(document["epoch"]),
            int(document["bucket"]),
        )


def held(document: Mapping[str, Any]) -> Held:
    """Return the value that a queued comment is. Raises ValueError, KeyError or TypeError for a malformed one."""
    _check(document, _FORM | _HELD_FORM)
    _check(document["author"], _AUTHOR_FORM)
    return Held(
        id=str(document["_id"]),
        target=Target.of_id(document["discussion_id"]),
        slug=document["slug"],
        parent=document["answers"] or document["parent_id"] or "",
        number=int(document["number"]),
        posted=document["posted"],
        author=author(document["author"]),
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
        said=document["said"],
    )


def replaced(document: Mapping[str, Any]) -> Replaced:
    """Return the value that an entry of the history is."""
    target = Target.of_id(document["discussion_id"])
    return Replaced(comment(target, checked(document)), document["at"], document["by"])


def slug_of(new: NewComment) -> str:
    """Return the slug that a new comment will have. Raises InvalidParent for what cannot be a slug."""
    if new.parent and not slugs.is_slug(new.parent):
        raise InvalidParent(new.parent)
    return new.slug or slugs.of(new.token, new.parent, conf.get("MAX_DEPTH"))
