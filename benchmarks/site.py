"""A temporary site for measurements, with an embedded MongoDB, its own settings, and the demo's content."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

QUICK = bool(os.environ.get("QUICK"))


@contextmanager
def temporary_site() -> Iterator[Path]:
    """Start MongoDB, set the environment variables for it, and yield a folder for other files.

    A process reads settings only once, so benchmarks that need two sites start additional processes.
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


def set_up(nodes: int = 0, *, distinct: int | None = None) -> None:
    """Set up Django, run the migrations, and load the demo with this number of additional nodes.

    If `distinct` is given, only this number of nodes have their own text (see `volume.load`).
    """
    import django

    django.setup()
    from django.core.management import call_command

    from benchmarks import volume
    from cms.serving import startup
    from marginalia.mongo.clock import now

    startup.set_up()
    call_command("load_demo", verbosity=0)
    if nodes:
        sum(volume.load(nodes, now(), distinct=distinct))
