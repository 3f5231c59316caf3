"""A mongod that lives as long as a block of code."""

from collections.abc import Iterator
from contextlib import contextmanager

from mongo.embedded import EphemeralMongod


@contextmanager
def mongod() -> Iterator[str]:
    """Start a server with an empty data folder; yield its URI, and end it with the block."""
    server = EphemeralMongod()
    try:
        yield server.start()
    finally:
        server.stop()
