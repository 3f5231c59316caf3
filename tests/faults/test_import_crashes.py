"""An import stopped after each of its writes: stored data is whole, and the next run completes it."""

from pathlib import Path
from typing import Any

import pytest

from marginalia.comments.reading import selectors
from marginalia.comments.types import Target
from marginalia.mongo.connection import database
from nodes.models import tree
from nodes.services import integrity
from tests.support.crashing import killed_after_writes
from tests.support.wxr import comment, export, item, page
from wordpress.importer import Importer, Options

pytestmark = pytest.mark.usefixtures("mongo")

DATA = export(
    page(2, "Below", post_parent=1),
    page(1, "Above", "x", comment(20)),
    item(3, "One", "x", comment(1), comment(2, parent=1), comment(3, approved="0", parent=1)),
    item(4, "Two", "x", comment(4)),
)
WRITTEN = ("cms.nodes", "cms.revisions", "cms.site", "discussions", "comments", "comments.pending")


def contents() -> tuple[Any, ...]:
    """Return the imported content, without parts that differ from run to run."""
    db = database()
    nodes = sorted((d["_id"], d["metadata"]["slug"], d["metadata"]["detail"]["text"]) for d in db["cms.nodes"].find())
    comments = sorted((d["discussion_id"], d["full_slug"], d["source"]) for d in db["comments"].find())
    queued = sorted((d["discussion_id"], d["full_slug"], d["source"]) for d in db["comments.pending"].find())
    counts = sorted((d["_id"], d["count"]) for d in db["discussions"].find())
    return nodes, comments, queued, counts


@pytest.mark.slow
def test_import_killed_after_any_write_resumes(tmp_path: Path):
    path = tmp_path / "export.xml"
    path.write_bytes(DATA)

    def work() -> None:
        Importer(path, Options()).run()

    work()
    wanted = contents()
    assert [len(part) for part in wanted] == [5, 4, 1, 3]
    writes = 0
    while True:
        for name in WRITTEN:
            database()[name].delete_many({})
        tree.fresh()
        if not killed_after_writes(writes, work):
            break
        writes += 1
        for document in database()["cms.nodes"].find():
            there = Target("nodes.node", str(document["_id"]))
            assert all(found.source for found in selectors.iterate(there))
        work()
        assert contents() == wanted
        assert {finding.kind for finding in integrity.check()} <= {integrity.ORPHAN}
    assert writes >= 20
    assert contents() == wanted
