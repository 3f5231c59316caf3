"""Allocate all stack frames of a request in one contiguous block of memory, however deeply the calls are nested."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

# Size of the frame in machine words. CPython adds its own overhead and rounds the block up to 512 kB. Half of the block
# is left for called functions.
_STACK_SIZE = 1 << 15


def with_stack_memory(function: Any) -> Callable[..., Any]:
    """Return `function` with preallocated memory for the frames of all functions that it calls.

    CPython allocates frames in chunks of 16 kB. If the frame of a call doesn't fit, CPython requests another chunk from
    the operating system, and releases this chunk when the call returns. A call in a loop at such a boundary allocates
    and releases a chunk in each iteration (https://github.com/python/cpython/issues/142183). Rendering a post's
    comments did this 1,200 times per page, which took nearly half of the rendering time.

    For a frame larger than 16 kB, CPython allocates a chunk whose size is the next larger power of two. The functions
    called from this frame use the rest of the chunk.
    """
    code = function.__code__.replace(co_stacksize=_STACK_SIZE)
    return FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
