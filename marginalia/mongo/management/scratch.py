"""A scratch database alongside the site's database, for commands whose work must be invisible to the site."""

from collections.abc import Iterator
from contextlib import contextmanager

from bson import ObjectId
from django.core.management.base import CommandError
from django.db import connections
from pymongo.errors import OperationFailure

from marginalia.mongo import indexes, status
from marginalia.mongo.connection import UNAUTHORIZED, client, no_time_limit


@contextmanager
def scratch_database() -> Iterator[None]:
    """Within the block, connect this process to new databases that have all indexes and validators.

    The databases are deleted at the end of the block.

    Raises:
        CommandError: The database user can't create databases.
    """
    own = {alias: connections[alias].database for alias in connections}
    id = ObjectId()
    names = {alias: f"{status.scratch_prefix(database.name)}{id}" for alias, database in own.items()}
    try:
        for alias, name in names.items():
            connections[alias].database = client(alias)[name]
        try:
            with no_time_limit():
                indexes.ensure()
        except OperationFailure as error:
            if error.code != UNAUTHORIZED:
                raise
            raise CommandError(
                "The user of MONGODB_URI can't create another database. Set MONGODB_URI to a user "
                "with the roles readWriteAnyDatabase and dbAdminAnyDatabase."
            ) from error
        yield
    finally:
        for alias, database in own.items():
            connections[alias].database = database
            try:
                client(alias).drop_database(names[alias])
            except OperationFailure as error:
                # If the user isn't allowed to create the database, dropping it fails, too, so ignore this error.
                if error.code != UNAUTHORIZED:
                    raise
