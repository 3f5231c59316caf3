"""Stamp the keys of pages that this process has made outdated, so that its users see their changes immediately.

Without this, the page cache would know of a change only after the change has come back in the change stream.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pymongo import monitoring

from nodes.collections import NODES, SITE
from reader import purging
from reader.change_stream import DISCUSSIONS
from reader.page_cache import stamps

# The names of the lists of writes in commands, by the command.
_WRITES = {"insert": "documents", "update": "updates", "delete": "deletes"}
_COLLECTIONS = {NODES, SITE, DISCUSSIONS}


class OwnWrites(monitoring.CommandListener):
    """A listener for the commands of this process that stamps the keys of each write, even if the write has failed."""

    def __init__(self) -> None:
        self._current = threading.local()

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        self._current.keys = set(written_keys(event.command_name, event.command))

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        self._ended()

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        self._ended()

    def _ended(self) -> None:
        if keys := self._current.keys:
            stamps.stamp(keys)


def written_keys(name: str, command: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of the pages that a command can make outdated."""
    if name == "commitTransaction":
        yield purging.LISTS
    elif name == "findAndModify" and command[name] in _COLLECTIONS:
        yield from _keys(command[name], command["query"], command.get("update"))
    elif name in _WRITES and command[name] in _COLLECTIONS:
        for write in command[_WRITES[name]]:
            query = write if name == "insert" else write["q"]
            yield from _keys(command[name], query, write["u"] if name == "update" else None)


def _keys(collection: str, query: Mapping[str, Any], update: Any) -> Iterable[str]:
    """Return the keys for a write to the document with the `_id` in `query`.

    `update` contains update operators, or is a pipeline, a whole document, or None.
    """
    if "_id" not in query or isinstance(query["_id"], Mapping):
        return {purging.LISTS}
    event: dict[str, Any] = {"ns": {"coll": collection}, "documentKey": {"_id": query["_id"]}, "fields": []}
    if isinstance(update, Mapping) and all(operator.startswith("$") for operator in update):
        changes = [names for operator, names in update.items() if operator != "$setOnInsert"]
        event |= {"operationType": "update", "fields": [name for names in changes for name in names]}
    else:
        event |= {"operationType": "replace"}
    return purging.outdated_keys(event)
