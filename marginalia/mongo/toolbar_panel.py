"""A panel for django-debug-toolbar that shows the MongoDB commands of a request.

Unlike panels that record querysets, this panel also shows the commands of services and of the comments app, which use
the driver directly. To use it, add "marginalia.mongo.toolbar_panel.MongoDBPanel" to DEBUG_TOOLBAR_PANELS.
"""

import threading
import traceback
from typing import Any

from bson import json_util
from debug_toolbar.panels import Panel
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from pymongo import monitoring

# Fields that the driver adds to commands.
_DRIVER_FIELDS = {"lsid", "$db", "$clusterTime", "$readPreference", "txnNumber", "maxTimeMS", "readConcern"}
# Maximum number of characters shown of a command. Commands that store photos or long texts are truncated.
MAX_LENGTH = 5_000


class _Recorder(monitoring.CommandListener, threading.local):
    """Records the commands that a thread sends while a request is shown in the toolbar."""

    commands: list[dict[str, Any]] | None = None

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        if self.commands is None:
            return
        command = {key: value for key, value in event.command.items() if key not in _DRIVER_FIELDS}
        name = command.pop(event.command_name, "")
        self.commands.append(
            {
                "name": event.command_name,
                "collection": name if isinstance(name, str) else command.get("collection", ""),
                "text": json_util.dumps(command, json_options=json_util.RELAXED_JSON_OPTIONS)[:MAX_LENGTH],
                "caller": _caller(),
                "ms": None,
                "failed": False,
            }
        )

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        self._ended(event, failed=False)

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        self._ended(event, failed=True)

    def _ended(self, event: Any, *, failed: bool) -> None:
        if self.commands:
            self.commands[-1] |= {"ms": event.duration_micros / 1_000, "failed": failed}


def _caller() -> str:
    """Return the innermost line of code that doesn't belong to a library, as "file:line in function"."""
    for frame in reversed(traceback.extract_stack(limit=60)):
        if frame.filename != __file__ and not any(
            part in frame.filename for part in ("/pymongo/", "/django_mongodb_backend/", "/django/", "/gridfs/")
        ):
            return f"{frame.filename}:{frame.lineno} in {frame.name}"
    return ""


recorder = _Recorder()
# Clients that are created later report their commands to the recorder. apps.py imports this module before any client
# is created.
monitoring.register(recorder)


class MongoDBPanel(Panel):
    """The MongoDB commands of a request, with their durations and the lines of code that sent them."""

    title = _("MongoDB commands")
    nav_title = _("MongoDB")
    template = "mongo/toolbar_panel.html"

    @property
    def nav_subtitle(self) -> str:
        """The number of commands and their total duration."""
        stats = self.get_stats()
        count = len(stats.get("commands", ()))
        return ngettext("%(count)d command in %(ms).1f ms", "%(count)d commands in %(ms).1f ms", count) % {
            "count": count,
            "ms": stats.get("ms", 0),
        }

    def enable_instrumentation(self) -> None:
        """Start recording the commands of this thread."""
        recorder.commands = []

    def disable_instrumentation(self) -> None:
        """Stop recording, and keep the commands for `generate_stats`."""
        self._commands, recorder.commands = recorder.commands or [], None

    def generate_stats(self, request: HttpRequest, response: HttpResponse) -> None:
        """Store the recorded commands in the toolbar."""
        self.record_stats({"commands": self._commands, "ms": sum(command["ms"] or 0 for command in self._commands)})
