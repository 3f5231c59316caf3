"""The storage of discussions. `backend()` is the one entrance; the contract is `base.Backend`."""

from comments.backends.base import Backend


def backend() -> Backend:
    """Return the back end in use: the one on MongoDB, whatever schemas its discussions are kept in."""
    from comments.backends.mongodb import MongoBackend

    return MongoBackend()
