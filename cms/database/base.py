"""ENGINE = "cms.database": `mongo.engine`, whose connection may name the embedded server, and whose commands are counted."""

from pathlib import Path
from typing import Any

from cms.requests.metrics import commands
from local import embedded
from mongo.engine import base
from mongo.engine.commands import CommandWatch


class DatabaseWrapper(base.DatabaseWrapper):
    def get_connection_params(self) -> dict[str, Any]:
        """HOST "embedded:FOLDER" stands for the server whose data is in FOLDER: looked for, or started, only now."""
        params: dict[str, Any] = super().get_connection_params()
        scheme, _, folder = (params["host"] or "").partition(":")
        if scheme == "embedded":
            params["host"] = embedded.uri_for(Path(folder))
        params["event_listeners"] = [*params.get("event_listeners", ()), CommandWatch(commands.watch)]
        return params
