"""The kinds of errors in requests, and the conversion of errors from the comments app."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

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
    SearchTimeout,
    TargetNotFound,
    TokenUsed,
)
from marginalia.comments.posting.services import Refused
from marginalia.comments.views import RETRY_AFTER

# The header whose value identifies a new comment, so that a request can safely be sent again.
KEY_HEADER = "Idempotency-Key"
KEY_PATTERN = "^[!-~]{1,255}$"
# The status code of each kind of error.
STATUS = {
    "forbidden": 403,
    "not-found": 404,
    "conflict": 409,
    "stale": 412,
    "invalid": 422,
    "key-reused": 422,
    "if-match-needed": 428,
    "too-many-requests": 429,
    "unavailable": 503,
}
# The kind of error for each rule or error, keyed by the name of the rule or error. If a project's own rule rejects a
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
    "used": f"header.{KEY_HEADER}",
}
_ERRORS: tuple[tuple[type[CommentError], str], ...] = (
    (CommentNotFound, "not-found"),
    (TargetNotFound, "not-found"),
    (InvalidComment, "invalid"),
    (SearchTimeout, "unavailable"),
    (EditConflict, "stale"),
    (HeldChanged, "stale"),
    (DiscussionClosed, "forbidden"),
    (DiscussionBusy, "unavailable"),
    (DiscussionDamaged, "unavailable"),
)


class Rejected(Exception):
    """The request is not accepted.

    Attributes:
        kind: The kind of error, a key of STATUS.
        message: The reason. If it is "", `errors` contains the reasons.
        errors: (field, message) pairs for invalid fields. A field is a path such as "body.text".
        rule: The name of the rule that rejected a comment, or "".
    """

    def __init__(self, kind: str, message: str = "", *, errors: Sequence[tuple[str, str]] = (), rule: str = "") -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message
        self.errors = tuple(errors)
        self.rule = rule

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of the response."""
        seconds = {"too-many-requests": conf.get("RATE")[1], "unavailable": RETRY_AFTER}.get(self.kind)
        return {"Retry-After": str(seconds)} if seconds else {}


@contextmanager
def as_rejections() -> Iterator[None]:
    """Convert errors from the comments app to `Rejected`. Use this function as a context manager or a decorator."""
    try:
        yield
    except Refused as refused:
        raise from_refused(refused) from refused
    except CommentError as error:
        kind = next((kind for type, kind in _ERRORS if isinstance(error, type)), "conflict")
        raise _rejected(kind, str(error.sentence), type(error).__name__) from error


def from_refused(refused: Refused) -> Rejected:
    """Convert the reason why a comment or an action was refused."""
    kind = _KINDS.get(refused.rule, "forbidden")
    # Don't use the error's message, which tells users to press a button, because clients have no buttons.
    message = (
        "This Idempotency-Key was already used for another request. Use a new one."
        if kind == "key-reused"
        else str(refused.sentence)
    )
    return _rejected(kind, message, refused.rule, rule=refused.rule)


def _rejected(kind: str, message: str, reason: str, *, rule: str = "") -> Rejected:
    errors = [(_FIELDS[reason], message)] if reason in _FIELDS else ()
    return Rejected(kind, message, errors=errors, rule=rule)
