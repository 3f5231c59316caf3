"""Speed of `manage.py import_comments` into an empty discussion, compared with raw inserts."""

import io
import json
import random
import tempfile
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks import report, site
from benchmarks.content import SENTENCES

COUNT = 500 if site.QUICK else 10_000
MINIMUM = 1_000
LAYOUTS = (("documents", "oldest"), ("buckets", "oldest"), ("buckets", "threaded"), ("embedded", "oldest"))
COLUMNS = ["Layout", "Comments", "Import per second", "Raw insert per second", "Ratio", f"≥ {MINIMUM:,}"]
ABOUT = """`import_comments` renders and stores the comments in a file. Half of the comments are replies. *Raw insert*
calls `insert_one` once per comment, in the same process, on a collection that has only the `_id` index."""


def main() -> None:
    """Import the same file in each layout, and publish the results."""
    with site.temporary_site():
        import django

        django.setup()
        from django.core.management import call_command

        call_command("setup_indexes", verbosity=0)
        rows = [_measure_layout(*layout) for layout in LAYOUTS]
        report.publish("importing", [report.Table("Importing comments", ABOUT, COLUMNS, rows)])


def _measure_layout(layout: str, order: str) -> list[object]:
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.core.signals import setting_changed

    from marginalia.comments import conf
    from marginalia.comments.reading import selectors
    from marginalia.comments.types import Target
    from marginalia.mongo.connection import database

    settings.COMMENTS = {"TARGETS": {"auth.user": {"LAYOUT": layout, "ORDER": order}}}
    setting_changed.send(sender=None, setting="COMMENTS", value=None, enter=True)
    user = User.objects.create_user(f"{layout} {order}")
    target = Target("auth.user", str(user.pk))
    lines = list(_lines(str(target)))
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(b"\n".join(lines))
        file.flush()
        started = time.perf_counter()
        call_command("import_comments", file.name, stdout=io.StringIO())
        rate = COUNT / (time.perf_counter() - started)
    assert selectors.count(target) == COUNT
    raw = database(conf.database_alias()).raw
    sample = lines[1 : 1 + COUNT // 10]
    started = time.perf_counter()
    for line in sample:
        raw.insert_one(json.loads(line))
    bare = len(sample) / (time.perf_counter() - started)
    verdict = "met" if rate >= MINIMUM else "missed"
    return [f"{layout}, {order}", f"{COUNT:,}", f"{rate:,.0f}", f"{bare:,.0f}", f"{rate / bare:.1f}", verdict]


def _lines(discussion: str) -> Any:
    from marginalia.comments import slugs

    yield json.dumps({"discussion": discussion, "open": True}).encode()
    generator = random.Random(9)
    recent = [""]
    started = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(COUNT):
        parent = generator.choice(recent) if generator.random() < 0.5 else ""
        slug = slugs.join(parent, slugs.part(str(number)))
        recent = [*recent[-9:], slug if slug.count("/") < 6 else ""]
        row = {
            "comment": slug,
            "answers": parent,
            "posted": (started + timedelta(minutes=number)).isoformat(timespec="milliseconds"),
            "edited": None,
            "kind": "comment",
            "state": "public",
            "name": f"Reader {number % 97}",
            "user": None,
            "url": "",
            "email": f"{number % 97}@example.org",
            "text": "\n\n".join(generator.sample(SENTENCES, generator.randrange(1, 4))),
        }
        yield json.dumps(row).encode()
