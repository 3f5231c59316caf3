"""Access to MongoDB through Django's connections, with aware datetimes."""

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

# Error codes from src/mongo/base/error_codes.yml.
UNAUTHORIZED, DUPLICATE_KEY = 13, 11000

# A collection is sampled if it has more documents than the sample size times this factor.
SAMPLING_FACTOR = 20

# Options for reading aware datetimes. Python can't represent times before the year 1 or after the year 9999. Services
# never write such times. Such times are clamped, because a single one would otherwise make the driver reject the whole
# batch.
AWARE: CodecOptions[Document] = CodecOptions(
    tz_aware=True, tzinfo=UTC, datetime_conversion=DatetimeConversion.DATETIME_CLAMP
)


def database(alias: str = DEFAULT_DB_ALIAS) -> Database[Document]:
    """Return the pymongo database of a Django connection, configured to read datetimes as aware UTC datetimes.

    The ORM uses Django's own database object. That object must continue to return naive datetimes, because
    DateTimeField can't read aware values.
    """
    read_tracking.note_read()
    wrapper = connections[alias]
    naive = wrapper.database
    cached: tuple[Database[Document], Database[Document]] | None = wrapper.__dict__.get("_aware_database")
    if cached is None or cached[0] is not naive:
        cached = wrapper.__dict__["_aware_database"] = (naive, naive.with_options(codec_options=AWARE))
    options = secondaries.options()
    return cached[1].with_options(**options) if options else cached[1]


def client(alias: str = DEFAULT_DB_ALIAS) -> MongoClient[Document]:
    """Return the pymongo client of a Django connection.

    Calling this function doesn't count as a read (see marginalia.mongo.engine.read_tracking).
    """
    mongo_client: MongoClient[Document] = connections[alias].database.client
    return mongo_client


def batched(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield `values` in lists of up to `size`, for example to run one query per list."""
    rest = iter(values)
    while batch := list(islice(rest, size)):
        yield batch


def insert_new(collection: Collection[Document], documents: Sequence[Document]) -> int:
    """Insert the documents whose keys don't exist yet, and return how many were inserted.

    Raises:
        BulkWriteError: A document couldn't be inserted for another reason.
    """
    try:
        return len(collection.insert_many(documents, ordered=False).inserted_ids)
    except BulkWriteError as error:
        if non_duplicate_errors(error):
            raise
        return int(error.details["nInserted"])


def non_duplicate_errors(error: BulkWriteError) -> list[Document]:
    """Return the errors from a bulk write ({index, code, …}), except duplicate key errors."""
    return [failure for failure in error.details["writeErrors"] if failure["code"] != DUPLICATE_KEY]


def first_batch(command: str, collection: str, **arguments: Any) -> list[Document]:
    """Run a "find" or "aggregate" command, and return the documents in its first batch.

    All results must fit in the first batch. Every request begins with such a command, and the command takes 10% less
    time without a cursor. If the connection is lost or the primary changes, the command is retried once, just as the
    driver retries find() and aggregate().

    Raises:
        PyMongoError: The command failed twice, or failed for another reason.
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
    """Return the initial stages for a pipeline that reads a collection.

    If the collection is too large to be read completely, the stages select `sample` random documents. Otherwise, the
    list is empty.
    """
    return [{"$sample": {"size": sample}}] if collection.estimated_document_count() > SAMPLING_FACTOR * sample else []


def transaction(work: Callable[[ClientSession], T], alias: str = DEFAULT_DB_ALIAS) -> T:
    """Run `work(session)` in a transaction, and return its result.

    The driver calls `work` again after a write conflict or a change of primary, so `work` must have no effects outside
    the transaction. The transaction uses snapshot reads and the connection's write concern, or majority if none is set.
    The data that `work` read is therefore still current when the transaction commits.
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
    """Limit the time for the commands in a block to `seconds`, plus one round trip.

    The round trip is added because the driver doesn't send a command if less time than one round trip is left
    (apply_timeout in pymongo 4.20). After a server has hung, the driver assumes a round trip of several seconds until
    its next check of that server.
    """
    with pymongo.timeout(seconds):
        # In a new process, this line connects to the server, so it needs a time limit, too.
        servers = client(alias).topology_description.server_descriptions().values()
    with pymongo.timeout(seconds + max((server.min_round_trip_time for server in servers), default=0.0)):
        yield


def server_selection_time_limit() -> AbstractContextManager[Any]:
    """Limit the time for the commands in a block to the connection's serverSelectionTimeoutMS.

    Each request begins with such a block, so it fails quickly if no server is found or the server hangs. The driver
    ignores serverSelectionTimeoutMS if timeoutMS is set (get_server_selection_timeout in pymongo 4.20). Without this
    limit, every request during an outage would wait for timeoutMS.
    """
    return time_limit(client().options.server_selection_timeout)


def is_mongos(alias: str) -> bool:
    """Return whether the connection `alias` is to a mongos."""
    return client(alias).admin.command("hello").get("msg") == "isdbgrid"


def no_time_limit() -> AbstractContextManager[Any]:
    """Lift the connection's time limit for a block that builds indexes or scans collections.

    serverSelectionTimeoutMS still limits the time for finding a server.
    """
    return pymongo.timeout(0)
