"""Convert errors from the comments app to problems. A problem's `rule` is the machine-readable reason."""

from collections.abc import Iterator
from contextlib import contextmanager

from api.http.idempotency import HEADER
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

# Number of seconds that a client should wait before trying again if a discussion is busy.
RETRY_AFTER = 5
# The problem kind for each rule or error, keyed by the name of the rule or error. If a project's own rule rejects a
# comment, the kind is "forbidden".
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
def as_problems() -> Iterator[None]:
    """Convert errors from the comments app to problems. Use this function as a context manager or a decorator."""
    try:
        yield
    except Refused as refused:
        raise problem_of(refused) from refused
    except CommentError as error:
        kind = next((kind for type, kind in _ERRORS if isinstance(error, type)), "conflict")
        raise Problem(kind, str(error.sentence), headers=_headers(kind)) from error


def problem_of(refused: Refused) -> Problem:
    """Return the problem for a rejected comment or action."""
    kind = _KINDS.get(refused.rule, "forbidden")
    message = str(refused.sentence)
    if kind == "key-reused":
        # Don't use the error's message, which tells users to press a button, because the API has no buttons.
        message = KINDS[kind][1]
    errors = [(_FIELDS[refused.rule], message)] if refused.rule in _FIELDS else ()
    return Problem(kind, message, errors=errors, headers=_headers(kind), rule=refused.rule)


def _headers(kind: str) -> dict[str, str]:
    seconds = {"too-many-requests": conf.get("RATE")[1], "unavailable": RETRY_AFTER}.get(kind)
    return {"Retry-After": str(seconds)} if seconds else {}
