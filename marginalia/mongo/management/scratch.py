"""A scratch database alongside the site's own, for commands whose work the site must not see."""

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
    """Switch all connections of this process to new databases with indexes and validators, and delete them at the end.

    Raises:
        CommandError: The user can't create databases.
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
                # A user who can't create the database can't drop it either.
                if error.code != UNAUTHORIZED:
                    raise
