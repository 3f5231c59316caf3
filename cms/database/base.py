"""ENGINE = "cms.database": the engine from `marginalia.mongo`, with the embedded server and command metrics."""

from importlib import import_module
from pathlib import Path
from typing import Any

from cms.requests.metrics import commands
from marginalia.local import embedded
from marginalia.mongo.engine import base
from marginalia.mongo.engine.commands import CommandReporter


class DatabaseWrapper(base.DatabaseWrapper):
    """A MongoDB connection that can start the embedded server."""

    def get_connection_params(self) -> dict[str, Any]:
        """Return the client's parameters.

        If HOST is "embedded:FOLDER", find or start the server whose data is in FOLDER.

        Django calls this method when a connection is first needed, so commands that don't use the database don't start
        the server.
        """
        params: dict[str, Any] = super().get_connection_params()
        scheme, _, folder = (params["host"] or "").partition(":")
        if scheme == "embedded":
            params["host"] = embedded.uri_for(Path(folder))
        # This import must wait until the apps are loaded.
        own_writes = import_module("reader.page_cache.own_writes")
        listeners = [CommandReporter(commands.watch), own_writes.OwnWrites()]
        params["event_listeners"] = [*params.get("event_listeners", ()), *listeners]
        return params
