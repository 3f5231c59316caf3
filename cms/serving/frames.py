"""Room for Python's frames: what a request calls stands in one piece of memory, however deep it is."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

# In words. With the least that CPython adds to it this rounds up to 512 kB, and half of that is for what is called.
_FRAME = 1 << 15


def with_room(function: Any) -> Callable[..., Any]:
    """Return a Python function that has room for the frames of all that it calls.

    CPython has frames in pieces of 16 kB. It asks the system for the next one where a call does not fit, and gives it back when
    that call returns; a loop that stands just there does so at each turn (https://github.com/python/cpython/issues/142183). The
    comments of a post did: 1,200 times a page, which was nearly half of the page's time. A piece for a frame that is larger
    than 16 kB is twice as large as the next smaller power of two, and what is called from there has the rest of it.
    """
    code = function.__code__.replace(co_stacksize=_FRAME)
    return FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
