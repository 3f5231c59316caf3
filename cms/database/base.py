"""ENGINE = "cms.database": the engine of `marginalia.mongo`, which finds the embedded server and counts commands."""

from pathlib import Path
from typing import Any

from cms.requests.metrics import commands
from marginalia.local import embedded
from marginalia.mongo.engine import base
from marginalia.mongo.engine.commands import CommandReporter


class DatabaseWrapper(base.DatabaseWrapper):
    def get_connection_params(self) -> dict[str, Any]:
        """HOST "embedded:FOLDER" stands for the server whose data is in FOLDER: looked for, or started, only now."""
        params: dict[str, Any] = super().get_connection_params()
        scheme, _, folder = (params["host"] or "").partition(":")
        if scheme == "embedded":
            params["host"] = embedded.uri_for(Path(folder))
        params["event_listeners"] = [*params.get("event_listeners", ()), CommandReporter(commands.watch)]
        return params
