"""Export and import: identical bytes for every layout, idempotent, and broken files with line and reason."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from cms.testing import build
from marginalia.comments.backends import backend
from marginalia.comments.backends.discussions import new_document
from marginalia.comments.errors import DiscussionBusy
from marginalia.comments.operations import transfer
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, NewComment, Order, Target

pytestmark = pytest.mark.usefixtures("mongo")


def discuss(target: Target) -> None:
    """Create a discussion with everything that a file must contain."""
    first = services.post(
        target, author=CommentAuthor("Ann", id="7"), source="One *two*", token="a", email="a@b.example"
    ).comment
    reply = services.post(
        target,
        author=CommentAuthor("Bo", url="https://bo.example"),
        source="答え\n\n> “q”",
        token="b",
        parent=first.slug,
    )
    services.post(target, author=CommentAuthor("Cy"), source="Three", token="c", parent=reply.comment.slug)
    gone = services.post(target, author=CommentAuthor("Di"), source="Gone", token="d").comment
    services.remove(target, gone.slug)
    services.edit(target, first.slug, source="One, edited", rev=1, token="e")
    for who in ("user:1", "guest:2"):
        backend().likes.add(target, first.slug, who)


def exported() -> bytes:
    return "".join(line + "\n" for line in transfer.export()).encode()


@pytest.fixture
def target() -> Target:
    return Target("nodes.node", str(build.node("basic-page", "page")))


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("into", ["documents", "embedded", "buckets"])
@pytest.mark.parametrize("out_of", ["documents", "embedded", "buckets"])
def test_round_trip_gives_the_same_bytes(target, rules, out_of, into):
    rules(DEFAULT={"LAYOUT": out_of})
    discuss(target)
    services.close(target)
    first = exported()
    threaded = [c.source for c in selectors.iterate(target, order=Order.THREADED)]
    services.delete_discussion(target)
    rules(DEFAULT={"LAYOUT": into})
    counts = transfer.import_(first.splitlines())
    assert (counts.comments, counts.new) == (4, 4)
    assert exported() == first
    assert [c.source for c in selectors.iterate(target, order=Order.THREADED)] == threaded
    assert selectors.discussion(target).layout == into
    assert selectors.count(target) == 3
    again = transfer.import_(first.splitlines())
    assert again.new == 0
    assert exported() == first


@pytest.mark.parametrize(("conversions", "is_read"), [(transfer.ATTEMPTS - 1, True), (transfer.ATTEMPTS, False)])
def test_discussion_converted_during_an_export_is_read_again(target, monkeypatch, conversions, is_read):
    discuss(target)
    whole, rows = list(transfer.rows(target)), transfer.rows

    def cut_off(target, **options):
        nonlocal conversions
        conversions -= 1
        yield next(found := rows(target, **options))
        if conversions >= 0:
            raise DiscussionBusy(str(target))
        yield from found

    monkeypatch.setattr(transfer, "rows", cut_off)
    if is_read:
        assert transfer.read_rows(target, list) == whole
    else:
        with pytest.raises(DiscussionBusy):
            transfer.read_rows(target, list)


def test_discussions_are_listed_without_a_long_lived_cursor(mongo, commands):
    begun = [Target("nodes.node", f"{number:024}") for number in range(230)]
    mongo.discussions.insert_many(new_document(one, "documents", Order.OLDEST, 100) for one in begun)
    with commands.recorded():
        assert list(selectors.iterate_targets()) == sorted(begun, key=lambda one: one.id)
    assert "getMore" not in commands.names


def test_text_is_rendered_on_import_without_scripts(target):
    discuss(target)
    row = json.loads(exported().splitlines()[1]) | {
        "text": "<script>alert(1)</script>",
        "html": "<script>alert(1)</script>",
    }
    services.delete_discussion(target)
    transfer.import_([exported_head(target), json.dumps(row).encode()])
    assert "<script" not in next(iter(selectors.iterate(target))).html


def exported_head(target: Target) -> bytes:
    return json.dumps({"discussion": str(target), "open": True}).encode()


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("layout", ["documents", "embedded", "buckets"])
def test_restrictions_are_exported_and_imported(target, rules, layout):
    rules(DEFAULT={"LAYOUT": layout})
    discuss(target)
    first = next(iter(selectors.iterate(target)))
    services.restrict(target, slow_seconds=60, hold_until=datetime(2040, 1, 1, tzinfo=UTC), hours=(1, 2), pinned="x")
    services.lock_thread(target, first.slug, locked=True)
    restrictions = selectors.discussion(target).restrictions
    file = exported()
    services.delete_discussion(target)
    transfer.import_(file.splitlines())
    assert selectors.discussion(target).restrictions == restrictions
    assert exported() == file


@pytest.mark.parametrize(
    "restrictions",
    [
        1,
        {"hours": [5, 5]},
        {"slow_seconds": -1},
        {"slow_seconds": float("inf")},
        {"hold_until": "2040-01-01"},
        {"hold_until": "9999-12-31T23:59:59+00:00"},
        {"hold_until": "0001-01-01T00:00:00+14:00"},
    ],
)
def test_invalid_restrictions_are_refused(target, restrictions):
    head = json.dumps({"discussion": str(target), "open": True, "restrictions": restrictions}).encode()
    with pytest.raises(transfer.BrokenFile, match="line 1: the restrictions are not valid"):
        transfer.import_([head])


def test_imported_likes_are_counted_once(target):
    discuss(target)
    lines = exported().splitlines()
    before = selectors.likes(target)
    assert list(before.values()) == [2]
    transfer.import_(lines)
    assert selectors.likes(target) == before


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("likes", [-1, True, "3", 1.5, None, 10**18, {"$gt": 0}])
def test_invalid_number_of_likes_is_refused(target, likes):
    discuss(target)
    head, row, *_rest = exported().splitlines()
    changed = json.dumps({**json.loads(row), "likes": likes}).encode()
    with pytest.raises(transfer.BrokenFile, match="line 2"):
        transfer.import_([head, changed])


def test_older_comments_are_sorted_into_a_discussion(target):
    discuss(target)
    old = json.loads(exported().splitlines()[1]) | {
        "comment": "a" * 16,
        "posted": "2001-01-01T00:00:00.000+00:00",
        "text": "Old",
    }
    assert transfer.import_([exported_head(target), json.dumps(old).encode()]).new == 1
    found = list(selectors.iterate(target))
    assert found[0].source == "Old"
    assert [c.number for c in found] == [1, 2, 3, 4, 5]


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda row: row.pop("text"), "missing"),
        (lambda row: row.update(comment="../../x"), "slug"),
        (lambda row: row.update(posted="yesterday"), "Invalid isoformat"),
        (lambda row: row.update(posted="2026-01-01T00:00:00"), "no time zone"),
        (lambda row: row.update(kind="rumour"), "rumour"),
        (lambda row: row.update(name={"$ne": 1}), "type"),
        (lambda row: row.update(answers="b" * 16, comment=f"{'b' * 16}/{'c' * 16}"), "InvalidParent"),
        (lambda row: row.update(answers="b" * 16), "isn't below"),
        (lambda row: row.update(text=" "), "InvalidComment"),
    ],
)
def test_broken_line_fails_and_keeps_earlier_comments(target, change, reason):
    discuss(target)
    lines = exported().splitlines()
    services.delete_discussion(target)
    row = json.loads(lines[2])
    change(row)
    with pytest.raises(transfer.BrokenFile, match=reason) as caught:
        transfer.import_([*lines[:2], json.dumps(row).encode(), *lines[3:]])
    assert caught.value.line == 3
    assert [c.source for c in selectors.iterate(target)] == ["One, edited"]


@pytest.mark.parametrize(
    "lines", [[b"{"], [b"[]"], [b'{"comment":"x"}'], [b'{"discussion":"x","open":true}'], [b"\xff"]]
)
def test_file_that_is_no_export_is_refused(lines):
    with pytest.raises(transfer.BrokenFile, match="line 1"):
        transfer.import_(lines)


def test_commands_write_and_read_a_file(target, tmp_path):
    discuss(target)
    path = tmp_path / "comments.ndjson"
    call_command("export_comments", str(path), stderr=StringIO())
    assert path.read_bytes() == exported()
    services.delete_discussion(target)
    out = StringIO()
    call_command("import_comments", str(path), "--dry-run", stdout=out)
    assert selectors.count(target) == 0
    call_command("import_comments", str(path), stdout=out)
    assert "Dry run: would import 1 discussions with 4 comments." in out.getvalue()
    assert "4 new." in out.getvalue()
    path.write_bytes(b"{")
    with pytest.raises(CommandError, match="line 1"):
        call_command("import_comments", str(path))


def test_depth_can_change_between_export_and_import(settings):
    """Existing comments are found again, and new ones get their place."""
    target = Target("auth.user", "6" * 24)
    settings.COMMENTS = {**settings.COMMENTS, "MAX_DEPTH": 2}
    said = services.post(target, author=CommentAuthor("Ann"), source="1", token="1").comment
    for n in range(2, 5):
        said = services.post(target, author=CommentAuthor("Ann"), source=f"{n}", token=f"{n}", parent=said.slug).comment
    lines = [line.encode() for line in transfer.export()]
    before = [replace(comment, text_hash="") for comment in selectors.iterate(target)]
    for depth in (8, 1):
        settings.COMMENTS = {**settings.COMMENTS, "MAX_DEPTH": depth}
        assert transfer.import_(lines).new == 0
        services.delete_discussion(target)
        assert transfer.import_(lines).new == 4
        assert list(selectors.iterate(target)) == before


def test_comment_below_a_wrong_parent_is_refused():
    target = Target("auth.user", "6" * 24)
    first = services.post(target, author=CommentAuthor("Ann"), source="1", token="1").comment
    services.post(target, author=CommentAuthor("Ann"), source="2", token="2", parent=first.slug)
    head, one, two = (json.loads(line) for line in transfer.export())
    lines = [json.dumps(row).encode() for row in (head, one, {**two, "answers": ""})]
    with pytest.raises(transfer.BrokenFile, match="line 3: its slug isn't below"):
        transfer.import_(lines)


def test_held_comment_is_imported_once_and_keeps_decisions(target):
    new = NewComment(CommentAuthor("Ann"), "Waits", "<p>Waits</p>", "a", email="a@b.example")
    backend().hold(target, new, ("first",))
    (row,) = transfer.held_rows()
    assert (row["email"], row["reasons"], row["text"]) == ("a@b.example", ["first"], "Waits")
    assert [one["email"] for one in transfer.held_rows(addresses=False)] == [""]
    services.delete_discussion(target)
    assert [transfer.import_held(row, dry_run=True), transfer.import_held(row), transfer.import_held(row)] == [
        True,
        True,
        False,
    ]
    assert list(transfer.held_rows()) == [row]
    backend().reject(selectors.held()[0].id)
    assert (transfer.import_held(row), list(transfer.held_rows())) == (False, [])
    with pytest.raises(transfer.BrokenFile, match="a slug is invalid"):
        transfer.import_held(row | {"comment": "../up"})


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("url", ["javascript:alert(1)", "//evil.example", "https://a.example/ onclick=x", "data:,x"])
def test_importing_an_unsafe_url_drops_it(target, url, mongo):
    discuss(target)
    lines = exported().replace(b"https://bo.example", url.encode()).splitlines()
    services.delete_discussion(target)
    assert transfer.import_(lines).new == 4
    assert [c.author.url for c in selectors.iterate(target)] == [""] * 4
    stored = [comment["author"]["url"] for comment in mongo["comments"].find() if "author" in comment]
    assert stored == [""] * 4
