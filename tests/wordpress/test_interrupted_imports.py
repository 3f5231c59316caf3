"""Interrupted imports and concurrent writers: stored data is whole, and the next run resumes."""

from typing import Any

import pytest
from bson import ObjectId
from django.core.management import CommandError, call_command

from cms.testing import build
from marginalia.comments.operations import importing
from marginalia.comments.reading import selectors
from nodes.errors import InvalidSlug, SlugTaken
from nodes.services import editing, trash
from nodes.types import Actor
from tests.support.wxr import comment, export, item, page
from tests.wordpress.stored import stored, target
from wordpress.importer import Importer, Options

pytestmark = pytest.mark.usefixtures("mongo")

ANN = Actor(None, "Ann")


class TestBroken:
    WHOLE = export(*(item(number, f"Post {number}", "Text", comment(number)) for number in range(1, 6)))

    def test_truncated_file_is_imported_up_to_the_reported_line(self, mongo, run):
        cut = self.WHOLE[: self.WHOLE.index(b"Post 4")]
        line = cut.count(bytes([10])) + 1
        with pytest.raises(CommandError, match=rf"line {line}: the file is incomplete .*Everything .* was imported"):
            run(cut)
        assert set(stored(mongo)) == {"blog", "blog/post-1", "blog/post-2", "blog/post-3"}
        assert "3 posts" in run.said
        assert run(self.WHOLE)[-1] == "4 changes: 2 posts, 2 comments"

    def test_hostile_or_foreign_file_imports_nothing(self, mongo, run):
        bomb = self.WHOLE.replace(b"<rss", b'<!DOCTYPE rss [<!ENTITY a "b">]><rss', 1)
        for data, reason in ((bomb, "entity 'a'"), (b"<html/>", "not a WordPress export"), (b"", "empty")):
            with pytest.raises(CommandError, match=reason) as caught:
                run(data)
            assert "imported" not in str(caught.value)
        assert stored(mongo) == {}

    def test_dry_run_of_a_truncated_file_does_not_claim_an_import(self, mongo, run):
        cut = self.WHOLE[: self.WHOLE.index(b"Post 4")]
        with pytest.raises(CommandError, match="the file is incomplete .*Everything before this line can be imported"):
            run(cut, dry_run=True)
        assert stored(mongo) == {}

    def test_error_before_the_first_post_leaves_no_section(self, mongo, run):
        cut = self.WHOLE[: self.WHOLE.index(b"Post 1")]
        with pytest.raises(CommandError, match="is incomplete"):
            run(cut, section="old")
        assert stored(mongo) == {}
        assert run(self.WHOLE, section="old")[-1] == "12 changes: 2 sections, 5 posts, 5 comments"

    def test_export_without_posts_creates_no_blog(self, mongo, run):
        assert run(export())[-1] == "0 changes"
        assert run(export(page(1, "One", post_name="blog")))[-1] == "1 change: 1 page"
        assert set(stored(mongo)) == {"blog"}

    def test_missing_files_and_folders_are_reported(self, tmp_path):
        with pytest.raises(CommandError, match="The file .* doesn't exist"):
            call_command("import_wordpress", str(tmp_path / "none.xml"))
        (tmp_path / "some.xml").write_bytes(self.WHOLE)
        with pytest.raises(CommandError, match="folder .* doesn't exist"):
            call_command("import_wordpress", str(tmp_path / "some.xml"), media=tmp_path / "none")


class TestInterrupted:
    DATA = export(
        page(2, "Below", post_parent=1),
        page(1, "Above", "x", comment(20)),
        item(3, "One", "x", comment(1), comment(2, parent=1), comment(3, approved="0")),
        item(4, "Two", "x", comment(4)),
    )

    def contents(self, mongo) -> tuple[Any, Any]:
        """Return what readers and moderators see, without ids and times of the run."""
        nodes = {path: (m["title"], m["created"].year, m["detail"]["text"]) for path, m in stored(mongo).items()}
        comments = sorted(document["full_slug"] for document in mongo["comments"].find())
        return nodes, comments + sorted(held.slug for held in selectors.held())

    @pytest.mark.slow_after(1)
    @pytest.mark.parametrize("at", range(5))
    def test_next_run_resumes(self, mongo, run, tmp_path, at):
        path = tmp_path / "some.xml"
        path.write_bytes(self.DATA)
        steps = 0

        def step(number: int) -> None:
            nonlocal steps
            steps += importing
            if steps > at:
                raise KeyboardInterrupt

        def begin(total: int, unit: str) -> None:
            nonlocal importing
            importing = unit == ""

        importing = False
        if at < 4:
            with pytest.raises(KeyboardInterrupt):
                Importer(path, Options(), begin=begin, step=step).run()
        run(self.DATA)
        found = self.contents(mongo)
        for name in ("cms.nodes", "cms.revisions", "cms.site", "discussions", "comments", "comments.pending"):
            mongo[name].delete_many({})
        run(self.DATA)
        assert self.contents(mongo) == found

    def test_interrupt_before_the_first_post_leaves_no_section(self, mongo, tmp_path):
        path = tmp_path / "some.xml"
        path.write_bytes(self.DATA)

        def begin(total: int, unit: str) -> None:
            if unit == "":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Importer(path, Options(section="old"), begin=begin).run()
        assert stored(mongo) == {}

    def test_interrupt_between_a_post_and_its_comments_resumes(self, mongo, run, monkeypatch):
        def stop(*args: Any) -> int:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(importing, "import_", stop)
            with pytest.raises(CommandError) as caught:
                run(self.DATA)
        assert caught.value.returncode == 130
        assert "again to resume" in str(caught.value)
        assert set(stored(mongo)) == {"page-1"}
        run(self.DATA)
        assert mongo["comments"].count_documents({}) == 4
        assert len(selectors.held()) == 1


class TestConcurrentWriters:
    """Other writers change the site between the plan and the import."""

    def importer(self, tmp_path, data: bytes, change) -> Importer:
        path = tmp_path / "some.xml"
        path.write_bytes(data)
        return Importer(path, Options(), begin=lambda total, unit: change() if unit == "" else None)

    def test_slug_taken_meanwhile_is_numbered(self, mongo, tmp_path):
        def take() -> None:
            build.node("basic-page", "page-1")

        report = self.importer(tmp_path, export(page(1, "One"), page(2, "Two")), take).run()
        assert {"page-1", "page-1-2", "page-2"} <= set(stored(mongo))
        assert report.notes["Renamed because the URL is taken"] == {"page 1 “One”: page-1 → page-1-2": 1}

    def test_section_trashed_meanwhile_fails_the_command(self, mongo, run, tmp_path, monkeypatch):
        run(export(page(1, "Above"), page(2, "Below", post_parent=1)))

        def throw() -> None:
            folder = stored(mongo)["page-1"]
            trash.trash(ANN, stored(mongo)["page-1/page-2"]["parent_id"], folder["nonce"])

        data = export(page(1, "Above"), page(2, "Below", post_parent=1), page(3, "New", post_parent=1), page(4, "Top"))
        report = self.importer(tmp_path, data, throw).run()
        assert report.failed == 1
        assert "page 3 “New”" in next(iter(report.notes["Not imported"]))
        assert {node["metadata"]["slug"] for node in mongo["cms.nodes"].find()} == {"page-2", "page-4"}

    def test_post_trashed_meanwhile_stays_trashed(self, mongo, run, tmp_path):
        data = export(item(1, "One", "x", comment(1)), item(2, "Two"))

        def another_run() -> None:
            run(data)
            made = stored(mongo)["blog/post-1"]
            trash.trash(ANN, ObjectId(target(made, mongo).pk), made["nonce"])

        report = self.importer(tmp_path, data, another_run).run()
        assert report.failed == 1
        assert set(stored(mongo)) == {"blog", "blog/post-2"}

    def test_invalid_slug_is_replaced(self, mongo, run, monkeypatch):
        create = editing.create

        def strict(actor: Actor, *, slug: str, **rest: Any) -> ObjectId:
            if slug in ("one", "two"):
                raise InvalidSlug(slug)
            return create(actor, slug=slug, **rest)

        monkeypatch.setattr(editing, "create", strict)
        run(export(item(7, "One", post_name="one"), page(8, "Two", post_name="two")))
        assert set(stored(mongo)) == {"blog", "blog/post-7", "page-8"}

    def test_incomplete_import_fails_the_command(self, run, monkeypatch):
        def full(*args: Any, **kwargs: Any) -> None:
            raise SlugTaken("post-1", "post-1")

        run(export(item(1, "One")))
        monkeypatch.setattr(editing, "create", full)
        with pytest.raises(CommandError, match="1 of the posts and pages could not be imported"):
            run(export(item(1, "One"), item(2, "Two")))
