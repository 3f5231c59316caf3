"""Simulated crashes between two database calls, either before or after the server has executed a call.

The database of an Interrupted backend has collections that count their calls. On a chosen call, or at random, Crash is
raised either instead of the call (fail-before) or after the call (fail-after).
"""

import random

from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.mongo.connection import database

CALLS = {
    "find",
    "find_one",
    "find_one_and_update",
    "insert_one",
    "insert_many",
    "update_one",
    "update_many",
    "delete_one",
    "delete_many",
    "bulk_write",
    "count_documents",
    "replace_one",
    "distinct",
}


class Crash(BaseException):
    """A simulated crash of the process. It isn't an Exception, so that the tested code can't catch it."""


class Interruption:
    """When to crash: on call number `at` (from 1), after this call if `after` is true, or with probability `chance`."""

    def __init__(self, at=0, after=False, chance=0.0):
        self.at, self.after, self.chance = at, after, chance
        self.calls = 0
        self.where = ""

    def before(self, name):
        self.calls += 1
        if self.at and self.where:
            raise Crash(f"{name} by what is dead")
        if (self.calls == self.at and not self.after) or random.random() < self.chance / 2:
            self.where = name
            raise Crash(f"before {name}")

    def then(self, name):
        if (self.calls == self.at and self.after) or random.random() < self.chance / 2:
            self.where = name
            raise Crash(f"after {name}")


class Fragile:
    """A collection on which any call can crash."""

    def __init__(self, collection, interruption):
        self._collection, self._interruption = collection, interruption

    def __getattr__(self, name):
        method = getattr(self._collection, name)
        if name == "with_options":
            return lambda **options: Fragile(method(**options), self._interruption)
        if name not in CALLS:
            return method

        def call(*args, **kwargs):
            self._interruption.before(name)
            result = method(*args, **kwargs)
            self._interruption.then(name)
            return result

        return call


class FragileDatabase:
    """A database with collections on which any call can crash."""

    def __init__(self, db, interruption):
        self._db, self._interruption = db, interruption

    def __getattr__(self, name):
        return self[name]

    def with_options(self, **options):
        return FragileDatabase(self._db.with_options(**options), self._interruption)

    def __getitem__(self, name):
        return Fragile(self._db[name], self._interruption)


class Interrupted(MongoBackend):
    """The MongoDB backend with simulated crashes."""

    def __init__(self, backend, at=0, after=False, chance=0.0):
        self.interruption = Interruption(at, after, chance)
        super().__init__(FragileDatabase(database(), self.interruption))
