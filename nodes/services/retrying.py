"""Retry compare-and-set writes while other writers keep changing the same document."""

from collections.abc import Callable
from typing import TypeVar

from nodes.errors import TooBusy

# Maximum number of attempts to read, change and write a document.
ATTEMPTS = 50

T = TypeVar("T")


def retry_compare_and_set(attempt: Callable[[], T | None]) -> T:
    """Call `attempt` until it returns a result other than None, and return the result.

    `attempt` must read the document, and write it only if it hasn't changed since. Otherwise, it must return None.

    Raises:
        TooBusy: ATTEMPTS calls returned None.
    """
    for _attempt in range(ATTEMPTS):
        if (result := attempt()) is not None:
            return result
    raise TooBusy
