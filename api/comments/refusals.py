"""Convert errors from the comments app to problems. A problem's `rule` is the machine-readable reason."""

from collections.abc import Iterator
from contextlib import contextmanager

from api.problems import Problem
from marginalia.comments.api.rejections import Rejected, as_rejections


@contextmanager
def as_problems() -> Iterator[None]:
    """Convert errors from the comments app to problems. Use this function as a context manager or a decorator."""
    try:
        with as_rejections():
            yield
    except Rejected as rejected:
        raise problem_of(rejected) from rejected


def problem_of(rejected: Rejected) -> Problem:
    """Return the problem for a rejected comment or action."""
    rule = {"rule": rejected.rule} if rejected.rule else {}
    return Problem(rejected.kind, rejected.message, errors=rejected.errors, headers=rejected.headers, **rule)
