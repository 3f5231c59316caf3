"""A throw-away site to measure: an embedded server in a folder of its own, the product's settings, the demo's content."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

QUICK = bool(os.environ.get("QUICK"))


@contextmanager
def served_by_mongod() -> Iterator[Path]:
    """Start a server and set Django up on it; yield the folder for what else is kept.

    Settings are read once a process: benchmarks that need two sites start processes.
    """
    from marginalia.local.embedded import Embedded

    with tempfile.TemporaryDirectory(prefix="marginalia-bench-") as folder:
        server = Embedded(Path(folder))
        os.environ |= {
            "MONGODB_URI": server.start().uri,
            "MONGODB_DATABASE": f"bench_{os.getpid()}",
            "VAR_DIR": folder,
            "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
        }
        try:
            yield Path(folder)
        finally:
            server.stop()


def set_up(nodes: int = 0) -> None:
    """Set Django up, migrate, and load the demo with so many nodes more."""
    import django

    django.setup()
    from django.core.management import call_command

    from cms.serving import startup

    startup.set_up()
    call_command("load_demo", nodes=nodes, verbosity=0)
