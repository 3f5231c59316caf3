"""`python -m tools.ways`: how many files a way through the code touches, traced while it is walked.

Each way runs on a real mongod. At every command that it sends to the collections it leads to, the files of the app on the
call stack are noted, from the entry of the way (a tag, a view) down to the driver. The longest stack counts. The plumbing
of `mongo/` and the middleware of `cms/` are not counted: they are the same for all.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from pymongo import monitoring

ROOT = Path(__file__).resolve().parents[1]
APPS = ("comments", "nodes")
WRITES = frozenset({"insert", "update", "delete", "findAndModify"})
# The way, its entry, and the most files that it may touch.
MOST = {"comment tag": 4, "post a comment": 4, "save with a merge": 3, "upload a photo": 3}


class Tracer(monitoring.CommandListener):
    """Notes the files on the stack at each command that touches one of these collections."""

    def __init__(self) -> None:
        self.collections: frozenset[str] = frozenset()
        self.writes = False
        self.longest: tuple[str, ...] = ()

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        writes = event.command_name in WRITES
        if str(event.command.get(event.command_name)) not in self.collections or writes is not self.writes:
            return
        files: list[str] = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in APPS:
                files.append(str(path.relative_to(ROOT)))
            frame = frame.f_back
        self.longest = max(self.longest, tuple(dict.fromkeys(reversed(files))), key=len)

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        """Only what is sent counts."""

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        """Only what is sent counts."""


@dataclass(frozen=True)
class Way:
    """A way: what walks it, the collections that it leads to, and whether it writes to them."""

    walk: Callable[[], object]
    collections: frozenset[str]
    writes: bool = True


def walked() -> dict[str, tuple[str, ...]]:
    """Walk every way on a database of its own; return the files of each, in the order of the calls."""
    tracer = Tracer()
    monitoring.register(tracer)
    with _site():
        ways = _ways()
        found = {}
        for name, way in ways.items():
            tracer.longest, tracer.collections, tracer.writes = (), way.collections, way.writes
            way.walk()
            found[name] = tracer.longest
    return found


@contextmanager
def _site() -> Iterator[None]:
    from tests.support import throwaway

    with throwaway.mongod() as uri, tempfile.TemporaryDirectory() as folder:
        os.environ |= {"TEST_MONGODB_URI": uri, "VAR_DIR": folder, "DJANGO_SETTINGS_MODULE": "tests.settings"}
        import django
        from django.test.utils import setup_databases, teardown_databases

        django.setup()
        from mongo import indexes

        state = setup_databases(verbosity=0, interactive=False, serialized_aliases=[])
        try:
            indexes.ensure()
            yield
        finally:
            teardown_databases(state, verbosity=0)


def _ways() -> dict[str, Way]:
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.core.files.uploadedfile import SimpleUploadedFile
    from django.template import engines
    from django.test import Client, override_settings
    from django.urls import reverse

    from tests.support.comments import site
    from tests.support.nodes import pictures
    from tests.support.nodes.editors import Editor
    from tests.support.nodes.photo_build import gallery

    target = site.entry()
    template = engines["django"].from_string("{% load comments %}{% get_comment_list for target as found %}{{ found }}")
    users = get_user_model().objects
    ann, ben = (Editor(users.create_superuser(name, f"{name}@example.org", "pw")) for name in ("ann", "ben"))
    page, library = (
        reverse("admin:nodes_node_change", args=[target.pk]),
        reverse("admin:nodes_photo_upload", args=[gallery()]),
    )

    def merge() -> None:
        hers, his = ann.open(page), ben.open(page)
        assert ann.send(page, hers, title="Hers").status_code == 302
        assert ben.send(page, his, summary="His").status_code == 302

    def upload() -> None:
        sent = ann.client.post(library, {"files": SimpleUploadedFile("lake.jpg", pictures.jpeg())})
        assert sent.status_code == 302

    def post() -> None:
        # No comment waits for a moderator, and a script may type fast.
        with override_settings(COMMENTS={**settings.COMMENTS, "MODE": "open", "MIN_SECONDS": 0}):
            assert site.post(Client(), target).status_code == 302

    comments = frozenset({"discussions", "comments", "comment_pages", "comments.pending"})
    return {
        "post a comment": Way(post, comments),
        "comment tag": Way(lambda: template.render({"target": target}), comments, writes=False),
        "save with a merge": Way(merge, frozenset({"cms.nodes"})),
        "upload a photo": Way(upload, frozenset({"cms.assets.files", "cms.assets.chunks"})),
    }


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="end with 1 where a way is longer than it may be")
    options = parser.parse_args()
    found = walked()
    sys.stdout.write("| Way | Files | At most | From entry to driver |\n|---|---|---|---|\n")
    for name, most in MOST.items():
        files = found[name]
        sys.stdout.write(f"| {name} | {len(files)} | {most} | {' → '.join(f'`{file}`' for file in files)} |\n")
    return int(options.check and any(len(found[name]) > most for name, most in MOST.items()))


if __name__ == "__main__":
    sys.exit(main())
