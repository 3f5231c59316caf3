"""ENGINE = "cms.database": the engine of `marginalia.mongo`, with the embedded server and metrics of commands."""

from pathlib import Path
from typing import Any

from cms.requests.metrics import commands
from marginalia.local import embedded
from marginalia.mongo.engine import base
from marginalia.mongo.engine.commands import CommandReporter


class DatabaseWrapper(base.DatabaseWrapper):
    """A MongoDB connection that can start the embedded server."""

    def get_connection_params(self) -> dict[str, Any]:
        """Return the client's parameters. HOST "embedded:FOLDER" finds or starts the server whose data folder is FOLDER.

        The server is started only here, at the first connection, so commands that need no database don't start it.
        """
        params: dict[str, Any] = super().get_connection_params()
        scheme, _, folder = (params["host"] or "").partition(":")
        if scheme == "embedded":
            params["host"] = embedded.uri_for(Path(folder))
        params["event_listeners"] = [*params.get("event_listeners", ()), CommandReporter(commands.watch)]
        return params
