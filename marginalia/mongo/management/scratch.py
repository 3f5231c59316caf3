"""A database for a moment, beside the site's own: what a command does in it the site never sees."""

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
    """Have all connections of this process lead to new databases on their servers, with indexes and validators, and delete
    these at the end. Raises CommandError where the user may make none."""
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
                "The user of MONGODB_URI can't create a database beside the site's own. Set MONGODB_URI to a user with "
                "the roles readWriteAnyDatabase and dbAdminAnyDatabase."
            ) from error
        yield
    finally:
        for alias, database in own.items():
            connections[alias].database = database
            try:
                client(alias).drop_database(names[alias])
            except OperationFailure as error:
                # Who may make none may drop none.
                if error.code != UNAUTHORIZED:
                    raise
