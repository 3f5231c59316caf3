"""The panel for django-debug-toolbar: the MongoDB commands of a request."""

import os
from types import SimpleNamespace

from django.template.loader import render_to_string
from pymongo import MongoClient

from marginalia.mongo import toolbar_panel


class Panel(toolbar_panel.MongoDBPanel):
    """A panel without a toolbar, which keeps its own statistics."""

    def __init__(self):
        super().__init__(SimpleNamespace(), None)

    def record_stats(self, stats):
        self.stats = stats

    def get_stats(self):
        return self.stats


def test_commands_of_the_request_are_shown(mongo):
    panel = Panel()
    # Only clients that were created after the import of the panel report to it.
    with MongoClient(os.environ["TEST_MONGODB_URI"]) as client:
        pages = client[mongo.name]["cms.nodes"]
        pages.find_one({"before": 1})
        panel.enable_instrumentation()
        pages.find_one({"metadata.slug": "<b>"})
        pages.aggregate([{"$match": {"large": "x" * 10_000}}])
        panel.disable_instrumentation()
        pages.find_one({"after": 1})
    panel.generate_stats(None, None)
    found, large = panel.stats["commands"]
    assert (found["name"], found["collection"], found["failed"]) == ("find", "cms.nodes", False)
    assert '"metadata.slug": "<b>"' in found["text"]
    assert "lsid" not in found["text"]
    assert "test_toolbar_panel.py" in found["caller"]
    assert len(large["text"]) == toolbar_panel.MAX_LENGTH
    assert panel.nav_subtitle.startswith("2 commands in ")
    html = render_to_string(panel.template, panel.stats)
    assert "&lt;b&gt;" in html
    assert "aggregate cms.nodes" in html
