"""Imports in a browser: the file is uploaded in pieces, checked and imported by a worker."""

import re

import pytest
from playwright.sync_api import expect

from marginalia.testing import run_tasks
from nodes.collections import NODES
from tests.support import wxr


@pytest.mark.slow
def test_export_is_uploaded_checked_and_imported(mongo, browsing, account, monkeypatch, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    monkeypatch.setattr("transfer.uploads.PIECE", 400)
    monkeypatch.setattr("transfer.views.PIECE", 400)
    ann = browsing(account("ann"))
    ann.goto("/admin/import/")
    export = {"name": "export.xml", "mimeType": "text/xml", "buffer": wxr.export(wxr.item(1, "Hello"))}
    ann.get_by_label("File:").set_input_files(export)
    ann.get_by_role("button", name="Upload and check").press("Enter")
    expect(ann).to_have_url(re.compile("/admin/import/[0-9a-f]{24}/$"))
    expect(ann.get_by_text("Waiting for the worker")).to_be_visible()
    run_tasks()
    # The page shows the report without a reload.
    expect(ann.get_by_text("Checked, not imported")).to_be_visible()
    expect(ann.locator(".import-report")).to_contain_text("1 post")
    ann.get_by_role("button", name="Import now").press("Enter")
    expect(ann.get_by_text("Being imported")).to_be_visible()
    run_tasks()
    expect(ann.get_by_role("status")).to_have_text("Imported")
    assert mongo[NODES].count_documents({"metadata.title": "Hello"}) == 1
