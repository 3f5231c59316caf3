"""ENGINE = "cms.database": `mongo.engine`, whose connection may name the embedded server."""

from pathlib import Path
from typing import Any

from local import embedded
from mongo.engine import base


class DatabaseWrapper(base.DatabaseWrapper):
    def get_connection_params(self) -> dict[str, Any]:
        """HOST "embedded:FOLDER" stands for the server whose data is in FOLDER: looked for, or started, only now."""
        params: dict[str, Any] = super().get_connection_params()
        scheme, _, folder = (params["host"] or "").partition(":")
        if scheme == "embedded":
            params["host"] = embedded.uri_for(Path(folder))
        return params
