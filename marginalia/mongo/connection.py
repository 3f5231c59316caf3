"""The one client: the one behind Django's connection, with datetimes that know their zone."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC
from itertools import islice
from typing import Any, TypeVar

import pymongo
from bson.codec_options import CodecOptions, DatetimeConversion
from django.db import DEFAULT_DB_ALIAS, connections
from pymongo import MongoClient
from pymongo.client_session import ClientSession
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import AutoReconnect, BulkWriteError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from marginalia.mongo.engine import read_tracking, secondaries

Document = dict[str, Any]
T = TypeVar("T")

# src/mongo/base/error_codes.yml
UNAUTHORIZED, DUPLICATE_KEY = 13, 11000

# A collection with so many times more documents than a sample has is not read whole.
SAMPLING_FACTOR = 20

# A time before the year 1 or after 9999, which no service writes, is read as the first or last there is: the driver would
# otherwise refuse the whole batch that has one.
AWARE: CodecOptions[Document] = CodecOptions(
    tz_aware=True, tzinfo=UTC, datetime_conversion=DatetimeConversion.DATETIME_CLAMP
)


def database(alias: str = DEFAULT_DB_ALIAS) -> Database[Document]:
    """Return the pymongo database of a Django connection; what it reads has aware UTC datetimes.

    The ORM reads through Django's own handle, which must stay naive: DateTimeField fails on aware values.
    """
    read_tracking.note_read()
    wrapper = connections[alias]
    stock = wrapper.database
    kept: tuple[Database[Document], Database[Document]] | None = wrapper.__dict__.get("_aware_database")
    if kept is None or kept[0] is not stock:
        kept = wrapper.__dict__["_aware_database"] = (stock, stock.with_options(codec_options=AWARE))
    options = secondaries.options()
    return kept[1].with_options(**options) if options else kept[1]


def client(alias: str = DEFAULT_DB_ALIAS) -> MongoClient[Document]:
    """Return the pymongo client of a Django connection.

    This does not count as a read: see marginalia.mongo.engine.read_tracking.
    """
    mongo_client: MongoClient[Document] = connections[alias].database.client
    return mongo_client


def batched(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the values in lists of `size`, one for each query that names them."""
    rest = iter(values)
    while batch := list(islice(rest, size)):
        yield batch


def insert_new(collection: Collection[Document], documents: Sequence[Document]) -> int:
    """Insert documents, but for those whose keys are there already; return how many. Raises BulkWriteError."""
    try:
        return len(collection.insert_many(documents, ordered=False).inserted_ids)
    except BulkWriteError as error:
        if non_duplicate_errors(error):
            raise
        return int(error.details["nInserted"])


def non_duplicate_errors(error: BulkWriteError) -> list[Document]:
    """Return what went wrong in a bulk write, {index, code, …}, but for keys that were there already."""
    return [one for one in error.details["writeErrors"] if one["code"] != DUPLICATE_KEY]


def first_batch(command: str, collection: str, **arguments: Any) -> list[Document]:
    """Return what a "find" or an "aggregate" of a few small documents finds, all of it in the first batch.

    For what every request begins with: without a cursor it takes a tenth less time. Where the connection broke or the
    primary moved it is sent once more, as the driver does with find() and aggregate(). Raises PyMongoError.
    """
    db = database()
    if db.read_concern.level:
        arguments["readConcern"] = db.read_concern.document

    def send() -> list[Document]:
        answer = db.command(
            command, collection, read_preference=db.read_preference, codec_options=db.codec_options, **arguments
        )
        return list(answer["cursor"]["firstBatch"])

    try:
        return send()
    except AutoReconnect:
        return send()


def sample_stages(collection: Collection[Document], sample: int) -> list[Document]:
    """Return the first stages of a pipeline over a collection: none for one that can be read whole, for a larger one a random
    sample of so many documents."""
    return [{"$sample": {"size": sample}}] if collection.estimated_document_count() > SAMPLING_FACTOR * sample else []


def transaction(work: Callable[[ClientSession], T], alias: str = DEFAULT_DB_ALIAS) -> T:
    """Run `work(session)` in a transaction and return what it returns.

    The driver calls `work` again after a write conflict or a change of primary, so it must have no other effects.
    The connection's write concern, or majority where it has none, and snapshot reads: what it read still held when it
    committed.
    """
    concern = client(alias).write_concern
    with client(alias).start_session() as session:
        return session.with_transaction(
            work,
            read_concern=ReadConcern("snapshot"),
            write_concern=WriteConcern("majority", j=True) if concern.is_server_default else concern,
        )


@contextmanager
def time_limit(seconds: float, alias: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Bound a block by `seconds`, besides a round trip: of less than that the driver sends nothing (apply_timeout in pymongo
    4.20), and takes the round trip of a server that hung for seconds, until it has asked that one again."""
    with pymongo.timeout(seconds):
        # The first of a process connects.
        known = client(alias).topology_description.server_descriptions().values()
    with pymongo.timeout(seconds + max((one.min_round_trip_time for one in known), default=0.0)):
        yield


def server_selection_time_limit() -> AbstractContextManager[Any]:
    """Bound a block by the connection's serverSelectionTimeoutMS: what a request begins with, so that it ends soon if no server
    is found or the one that is hangs.

    By itself the driver heeds that option only where there is no timeoutMS (get_server_selection_timeout in pymongo 4.20):
    every request of an outage would wait for the time of a whole operation.
    """
    return time_limit(client().options.server_selection_timeout)


def no_time_limit() -> AbstractContextManager[Any]:
    """Lift the connection's time limit from a block: an index build or a scan takes as long as it takes. Finding a server is
    still bounded by serverSelectionTimeoutMS."""
    return pymongo.timeout(0)
