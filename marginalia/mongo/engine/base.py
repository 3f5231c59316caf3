"""ENGINE = "marginalia.mongo.engine": django-mongodb-backend with extensions for this project.

ORDER BY can use indexes (see `compiler`), `migrate` adopts existing collections, and text and hashed indexes can be
introspected.
"""

from collections.abc import Iterable
from typing import Any

from django_mongodb_backend.base import DatabaseWrapper as BaseDatabaseWrapper
from django_mongodb_backend.introspection import DatabaseIntrospection as BaseIntrospection
from django_mongodb_backend.operations import DatabaseOperations as BaseOperations
from django_mongodb_backend.schema import DatabaseSchemaEditor as BaseSchemaEditor

from marginalia.mongo.engine import read_tracking, secondaries


class DatabaseOperations(BaseOperations):
    """The database operations of django-mongodb-backend, with this engine's compiler."""

    compiler_module = "marginalia.mongo.engine.compiler"

    @staticmethod
    def declared_names(alias: str) -> Iterable[str]:
        """Return the names of the collections declared for a connection. `apps.py` replaces this function."""
        return ()

    def execute_sql_flush(self, tables: Iterable[str]) -> None:
        """Empty the collections of models, and all other collections that the installed apps declare."""
        super().execute_sql_flush(dict.fromkeys([*tables, *self.declared_names(self.connection.alias)]))


class DatabaseIntrospection(BaseIntrospection):
    """Introspection that also supports text, hashed and 2d indexes."""

    # django-mongodb-backend doesn't support text, hashed and 2d indexes, so it raises KeyError for collections that
    # have such an index.
    ORDER_DIR = {**BaseIntrospection.ORDER_DIR, "text": "TEXT", "hashed": "HASHED", "2d": "2D"}


class DatabaseSchemaEditor(BaseSchemaEditor):
    """A schema editor that uses a collection if it already exists. Django's migrations would otherwise fail."""

    def get_database(self) -> Any:
        database = super().get_database()
        return database if self.collect_sql else _AdoptingDatabase(database)


class _AdoptingDatabase:
    """A database whose create_collection method does nothing if the collection already exists."""

    def __init__(self, database: Any) -> None:
        self._database = database

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def create_collection(self, name: str, **options: Any) -> None:
        if name not in self._database.list_collection_names(filter={"name": name}):
            self._database.create_collection(name, **options)


class DatabaseWrapper(BaseDatabaseWrapper):
    """A MongoDB connection with this engine's operations, introspection and schema editor."""

    ops_class = DatabaseOperations
    introspection_class = DatabaseIntrospection
    SchemaEditorClass = DatabaseSchemaEditor

    def get_connection_params(self) -> Any:
        """Return the arguments for the client.

        Times that Python can't represent are clamped, because the driver would reject a whole batch of documents if one
        of them contained such a time.
        """
        return {"datetime_conversion": "DATETIME_CLAMP", **super().get_connection_params()}

    def check_database_version_supported(self) -> None:
        """Skip the check. Otherwise, every process would wait if the server were unreachable (see servers.check)."""

    @property
    def database(self) -> Any:
        """The pymongo database. Every read and write uses this property, so test runners can block all database access.

        To block database access, pytest-django replaces ensure_connection(). Django's test cases also replace cursor(),
        because a connection that an earlier test opened remains open. django-mongodb-backend calls neither of these
        methods, so this property calls both.
        """
        self.ensure_connection()
        self.cursor()
        return self._database

    @database.setter
    def database(self, database: Any) -> None:
        self._database = database

    @database.deleter
    def database(self) -> None:
        del self._database

    def get_collection(self, name: str, **options: Any) -> Any:
        """Return a collection for a queryset, and record a read."""
        read_tracking.note_read(name)
        return super().get_collection(name, **{**secondaries.options(), **options})
