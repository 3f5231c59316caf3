"""Compare-and-set in a loop, while other writers keep changing the same document."""

from collections.abc import Callable
from typing import TypeVar

from nodes.errors import TooBusy

# Maximum attempts to read, change and write a document.
ATTEMPTS = 50

T = TypeVar("T")


def retry_compare_and_set(attempt: Callable[[], T | None]) -> T:
    """Call `attempt` until it returns a result other than None, and return the result.

    `attempt` reads the document and writes it only if it is still as it was read. It returns None if it isn't.

    Raises:
        TooBusy: ATTEMPTS calls returned None.
    """
    for _attempt in range(ATTEMPTS):
        if (result := attempt()) is not None:
            return result
    raise TooBusy
