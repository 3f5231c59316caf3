"""What comments refuse, told as problems; `rule` is the reason's name, for programs."""

from collections.abc import Iterator
from contextlib import contextmanager

from api.http.once import HEADER
from api.problems import KINDS, Problem
from marginalia.comments import conf
from marginalia.comments.errors import (
    CommentError,
    CommentNotFound,
    DiscussionBusy,
    DiscussionClosed,
    DiscussionDamaged,
    EditConflict,
    HeldChanged,
    InvalidComment,
    InvalidParent,
    TargetNotFound,
    TokenUsed,
)
from marginalia.comments.posting.services import Refused

# Seconds after which what was busy is asked again.
RETRY_AFTER = 5
# Kinds of problems by the names of rules and errors; what a project's own rule refuses is forbidden.
_KINDS: dict[str, str] = {
    "rate": "too-many-requests",
    "repeat": "conflict",
    "hold": "conflict",
    "conflict": "stale",
    CommentNotFound.__name__: "conflict",
    InvalidComment.__name__: "invalid",
    InvalidParent.__name__: "invalid",
    "used": "key-reused",
    TokenUsed.__name__: "key-reused",
    DiscussionBusy.__name__: "unavailable",
    DiscussionDamaged.__name__: "unavailable",
}
_FIELDS = {
    InvalidComment.__name__: "body.text",
    InvalidParent.__name__: "body.parent",
    "used": f"header.{HEADER}",
}
_ERRORS: tuple[tuple[type[CommentError], str], ...] = (
    (CommentNotFound, "not-found"),
    (TargetNotFound, "not-found"),
    (EditConflict, "stale"),
    (HeldChanged, "stale"),
    (DiscussionClosed, "forbidden"),
    (DiscussionBusy, "unavailable"),
    (DiscussionDamaged, "unavailable"),
)


@contextmanager
def told() -> Iterator[None]:
    """Raise the Problem that a refusal or an error of comments is. Decorates endpoints."""
    try:
        yield
    except Refused as refused:
        raise of(refused) from refused
    except CommentError as error:
        kind = next((kind for type, kind in _ERRORS if isinstance(error, type)), "conflict")
        raise Problem(kind, str(error.sentence), headers=_headers(kind)) from error


def of(refused: Refused) -> Problem:
    """Return the problem that a refusal is."""
    kind = _KINDS.get(refused.rule, "forbidden")
    sentence = str(refused.sentence)
    if kind == "key-reused":
        # The sentence of the form offers to send it again.
        sentence = KINDS[kind][1]
    errors = [(_FIELDS[refused.rule], sentence)] if refused.rule in _FIELDS else ()
    return Problem(kind, sentence, errors=errors, headers=_headers(kind), rule=refused.rule)


def _headers(kind: str) -> dict[str, str]:
    seconds = {"too-many-requests": conf.get("RATE")[1], "unavailable": RETRY_AFTER}.get(kind)
    return {"Retry-After": str(seconds)} if seconds else {}
