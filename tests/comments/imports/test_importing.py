"""Comments of other systems arrive on their pages: complete, once, and in their threads."""

import io
import json
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.urls import reverse

from marginalia.comments.imports.addresses import Addresses, BadRule, path_of
from marginalia.comments.imports.importer import Importer
from marginalia.comments.imports.records import SourceComment, SourceState, TextFormat
from marginalia.comments.imports.staging import Staging
from marginalia.comments.imports.texts import to_markdown
from marginalia.comments.moderation import pending
from marginalia.comments.posting import preparation, services
from marginalia.comments.reading import selectors
from marginalia.comments.types import Verdict

START = datetime(2019, 1, 2, 10, tzinfo=UTC)
PAGE = "https://old.example/news/hello/?utm=1#top"


def comment(id, *, minutes=0, **fields):
    values = {"address": PAGE, "name": "Ann", "text": f"Text {id}", "format": TextFormat.MARKDOWN}
    return SourceComment(str(id), posted=START + timedelta(minutes=minutes), **values | fields)


def run(*comments, **options):
    with Staging() as staging:
        staging.fill(comments, Addresses())
        return Importer("test", staging, **options).run()


def texts(target):
    return [one.source for one in selectors.iterate(target)]


def test_comments_keep_their_threads_and_times(post_page):
    report = run(
        comment(3, parent="2", minutes=3),
        comment(1),
        comment(2, parent="1", minutes=2, name=" Bea\n", website="javascript:alert(1)", email="bea@example.org"),
        comment(4, minutes=1),
    )
    assert (report.discussions, report.found, report.new) == (1, {"public": 4}, {"public": 4})
    first, fourth, second, third = selectors.iterate(post_page)
    assert [one.source for one in (first, fourth, second, third)] == ["Text 1", "Text 4", "Text 2", "Text 3"]
    assert (second.answers, third.answers) == (first.slug, second.slug)
    assert first.posted == START
    assert (second.author.name, second.author.url, second.author.id) == ("Bea", "", None)
    assert selectors.email_of(second) == "bea@example.org"


def test_second_import_changes_nothing(post_page):
    comments = [
        comment(1),
        comment(2, parent="1"),
        comment(3, state=SourceState.PENDING),
        comment(4, state=SourceState.SPAM),
    ]
    assert run(*comments).new == {"public": 2, "pending": 1, "spam": 1}
    before = list(selectors.iterate(post_page))
    report = run(*comments)
    assert sum(report.new.values()) == 0
    assert list(selectors.iterate(post_page)) == before
    assert len(selectors.held()) == 1
    assert len(selectors.held(verdict=Verdict.SPAM)) == 1


def test_stored_comments_are_not_rendered_again(post_page, monkeypatch):
    comments = [comment(n, minutes=n) for n in range(300)]
    run(*comments)
    with monkeypatch.context() as stopped:
        stopped.setattr(preparation, "render", lambda source: pytest.fail(f"{source} was rendered"))
        assert sum(run(*comments).new.values()) == 0
    assert run(*comments, comment(300, minutes=300)).new == {"public": 1}


def test_interrupted_import_is_completed(post_page, monkeypatch):
    comments = [comment(n, parent=str(n - 1) if n % 3 else "", minutes=n) for n in range(600)]
    calls = iter(range(10_000))

    def step():
        if next(calls) == 400:
            raise KeyboardInterrupt

    with Staging() as staging:
        staging.fill(comments, Addresses())
        with pytest.raises(KeyboardInterrupt):
            Importer("test", staging).run(step=step)
    assert 0 < selectors.count(post_page) < 600
    run(*comments)
    assert texts(post_page) == [f"Text {n}" for n in range(600)]
    assert selectors.count(post_page) == 600


def test_states_are_kept(post_page):
    run(
        comment(1, state=SourceState.REMOVED, text=""),
        comment(2, parent="1", minutes=1),
        comment(3, parent="1", minutes=2, state=SourceState.PENDING),
        comment(4, parent="3", minutes=3),
    )
    tombstone, second, fourth = selectors.iterate(post_page)
    assert tombstone.removed
    assert (second.answers, fourth.answers) == (tombstone.slug, tombstone.slug)
    (held,) = selectors.held()
    assert held.source == "Text 3"
    pending.approve(held.id)
    assert texts(post_page) == ["", "Text 2", "Text 3", "Text 4"]


def test_approved_comments_are_not_queued_again(post_page, mongo):
    comments = [comment(1, state=SourceState.PENDING)]
    run(*comments)
    (held,) = selectors.held()
    pending.approve(held.id)
    mongo["comments.pending"].delete_many({})  # as a TTL index does after 30 days
    assert sum(run(*comments).new.values()) == 0
    assert (selectors.held(), texts(post_page)) == ((), ["Text 1"])


@pytest.mark.parametrize("others", [0, 300])
def test_replies_to_comments_approved_since_are_stored_once(post_page, others):
    replies = [
        comment(2, parent="1", minutes=1),
        comment(3, parent="2", minutes=2, state=SourceState.PENDING),
        *(comment(10 + n, minutes=10 + n) for n in range(others)),
    ]
    run(comment(1, state=SourceState.PENDING), *replies)
    report = run(comment(1), *replies, comment(4, parent="2", minutes=3))
    assert +report.new == {"public": 2}
    found = {one.source: one for one in selectors.iterate(post_page)}
    assert texts(post_page)[:3] == ["Text 1", "Text 2", "Text 4"]
    assert len(found) == selectors.count(post_page) == 3 + others
    assert (found["Text 2"].depth, found["Text 4"].parent) == (0, found["Text 2"].slug)
    assert [held.source for held in selectors.held()] == ["Text 3"]
    report = run(comment(1, state=SourceState.SPAM), *replies)
    assert (+report.new, selectors.count(post_page)) == ({}, 3 + others)


def test_rejected_comments_stay_rejected(post_page):
    run(comment(1, state=SourceState.PENDING), comment(2, minutes=1, state=SourceState.SPAM))
    (rejected,) = selectors.held()
    pending.reject(rejected.id, by="1")
    for new in (2, 0):
        report = run(comment(1), comment(2, minutes=1), comment(3, parent="1", minutes=2))
        assert +report.new == ({"public": new} if new else {})
    assert [(one.source, one.depth) for one in selectors.iterate(post_page)] == [("Text 2", 0), ("Text 3", 0)]
    assert selectors.get_held(rejected.id).verdict is Verdict.REJECTED
    assert selectors.held(verdict=Verdict.SPAM) == ()


def test_missing_circular_and_later_parents_lose_no_comment(post_page):
    run(
        comment(1, parent="99"),
        comment(2, parent="3", minutes=1),
        comment(3, parent="2", minutes=2),
        comment(4, parent="4", minutes=3),
        comment(5, parent="6", minutes=4),
        comment(6, minutes=9),
    )
    found = list(selectors.iterate(post_page))
    assert sorted(one.source for one in found) == [f"Text {n}" for n in range(1, 7)]
    by_text = {one.source: one for one in found}
    assert by_text["Text 5"].answers == by_text["Text 6"].slug
    assert by_text["Text 5"].posted > by_text["Text 6"].posted


def test_deep_threads_are_folded_without_loss(post_page):
    run(*(comment(n, parent=str(n - 1), minutes=n) for n in range(60)))
    assert texts(post_page) == [f"Text {n}" for n in range(60)]


def test_unstorable_comments_are_named(post_page):
    report = run(comment(1, text=" "), comment(2, parent="1", minutes=1), comment(3, text="x" * 20_000))
    assert len(report.left_out) == 2
    assert report.left_out[0].startswith("1: ")
    assert texts(post_page) == ["Text 2"]


def test_accounts_are_joined_only_on_request(post_page):
    user = User.objects.create_user("ann", "Ann@example.org")
    run(comment(1, email="ann@example.org"))
    assert [one.author.id for one in selectors.iterate(post_page)] == [None]
    services.delete_discussion(post_page)
    User.objects.create_user("bea", "bea@example.org")
    User.objects.create_user("bea2", "bea@example.org")
    run(comment(1, email="ann@example.org"), comment(2, email="bea@example.org", minutes=1), joins_accounts=True)
    assert [one.author.id for one in selectors.iterate(post_page)] == [str(user.pk), None]


def test_likes_and_old_permalinks_are_kept(post_page, client, mongo):
    run(comment(1), comment(12, anchor="isso-12", likes=5, dislikes=2, minutes=1))
    stored = mongo["comments.imported"].find_one()
    assert (stored["slug"], stored["dislikes"]) == (list(selectors.iterate(post_page))[1].slug, 2)
    assert [one.likes for one in selectors.page(post_page).comments] == [0, 5]
    old = reverse("comments-old-permalink", args=[post_page.label, post_page.pk])
    second = list(selectors.iterate(post_page))[1]
    assert client.get(f"{old}?anchor=isso-12")["Location"].endswith(f"#c-{second.part}")
    assert client.get(f"{old}?anchor=isso-13")["Location"] == "/news/hello"
    services.delete_discussion(post_page)
    assert mongo["comments.imported"].count_documents({}) == 0


def test_negative_votes_count_as_none(post_page, mongo):
    run(comment(1, anchor="isso-1", likes=-5, dislikes=-2))
    assert mongo["comments.imported"].find_one()["dislikes"] == 0
    assert [one.likes for one in selectors.page(post_page).comments] == [0]


class TestAddresses:
    """Rules find the pages."""

    def test_rules_and_maps_are_applied(self, post_page, tmp_path):
        file = tmp_path / "map.csv"
        file.write_text("/one,/news/hello\n")
        rules = [r"s|^https://old\.example/blog/(.*)|/news/\1|", "s#/hallo#/hello#"]
        addresses = Addresses.from_options(rules, file)
        assert path_of(addresses.convert("https://old.example/blog/hallo/?x=1")) == "/news/hello"
        assert path_of(addresses.convert("/one")) == "/news/hello"
        assert path_of(addresses.convert("HTTPS://other.example/news/hello/index.html#top")) == "/news/hello"
        assert path_of(addresses.convert("http://[broken")) == "http://[broken"

    @pytest.mark.parametrize("rule", ["", "s|a|b", "y|a|b|", r"s|(|b|", r"s|a|\2|"])
    def test_invalid_rules_are_refused(self, rule):
        with pytest.raises(BadRule):
            Addresses.from_options([rule], None)

    def test_invalid_maps_are_refused(self, tmp_path):
        with pytest.raises(BadRule, match="can't be read"):
            Addresses.from_options([], tmp_path / "missing.csv")
        (tmp_path / "map.csv").write_text("/one\n")
        with pytest.raises(BadRule, match="line 1"):
            Addresses.from_options([], tmp_path / "map.csv")

    def test_known_objects_need_no_address(self, post_page):
        run(comment(1, address=str(post_page)))
        assert texts(post_page) == ["Text 1"]


@pytest.mark.parametrize(
    ("text", "format", "words"),
    [
        ("<p>Hello <b>there</b></p><script>x()</script>", TextFormat.HTML, "Hello there"),
        ('<p onclick="x()">A <a href="javascript:x()">link</a></p>', TextFormat.HTML, "link"),
        ("1. <b> *stars* _u_ [x](y)\n# no heading", TextFormat.PLAIN, None),
    ],
)
def test_texts_are_converted(mongo, text, format, words):
    html = preparation.render(to_markdown(text, format))
    assert "script" not in html
    assert "onclick" not in html
    if words:
        assert words in html.replace("<strong>", "").replace("</strong>", "").replace("<b>", "").replace("</b>", "")
    else:
        assert "&lt;b&gt; *stars* _u_ [x](y)" in html
        assert "<h1" not in html
        assert "<ol" not in html


class TestCommand:
    """`manage.py import_comments --from`."""

    @pytest.fixture
    def file(self, tmp_path):
        rows = [
            {"id": n, "url": url, "posted": "2019-01-02T10:00:00Z", "text": f"Text {n}", "name": "Ann"}
            for n, url in enumerate(["https://old.example/news/hello", "/missing", "/missing"])
        ]
        path = tmp_path / "comments.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        return str(path)

    def call(self, *args):
        out = io.StringIO()
        try:
            call_command("import_comments", *args, "--from", "json-lines", stdout=out)
        except CommandError as error:
            return out.getvalue(), str(error)
        return out.getvalue(), ""

    def test_dry_run_names_addresses_without_a_page(self, post_page, file):
        out, error = self.call(file, "--dry-run")
        assert "3 public" in out
        assert "No page: /missing (2 comments)" in out
        assert "Dry run: would import 1 discussions with 1 comments." in out
        assert error
        assert texts(post_page) == []

    def test_nothing_is_imported_with_unmatched_addresses(self, post_page, file):
        out, error = self.call(file)
        assert error.startswith("Nothing was imported.")
        assert texts(post_page) == []

    def test_unmatched_addresses_are_skipped_on_request(self, post_page, file):
        out, error = self.call(file, "--skip-unmatched")
        assert "1 discussions with 1 comments: 1 new." in out
        assert texts(post_page) == ["Text 0"]

    def test_rules_match_all_addresses(self, post_page, file):
        out, error = self.call(file, "--rewrite", "s|/missing|/news/hello|")
        assert error == ""
        assert "1 discussions with 3 comments: 3 new." in out
        assert selectors.count(post_page) == 3

    def test_site_is_read_once_for_all_comments(self, post_page, file, commands):
        reads = []
        for rule in ("s|/none|/none|", "s|/missing|/news/hello|"):
            services.delete_discussion(post_page)
            with commands.recorded():
                self.call(file, "--skip-unmatched", "--rewrite", rule)
            reads.append(sum(event.command.get("find") == "cms.site" for event in commands.sent))
        assert reads[0] == reads[1] > 0

    def test_wrong_options_are_explained(self, post_page, tmp_path, file):
        assert "Name the file" in self.call()[1]
        assert "isn't a rule" in self.call(file, "--rewrite", "x")[1]
        assert "can't be read" in self.call(str(tmp_path / "missing"))[1]
