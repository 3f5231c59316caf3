"""The services and selectors, end to end, with their budgets of MongoDB commands."""

from datetime import UTC, datetime

import pytest
from bson import ObjectId, encode

from marginalia.comments.errors import DiscussionClosed, EditConflict, InvalidComment, InvalidParent
from marginalia.comments.moderation import pending
from marginalia.comments.operations import importing, privacy
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, NewComment, Target
from tests.support.commands import explain, stages
from tests.support.comments.holders import account

TARGET = Target("auth.user", "650000000000000000000001")
ANN = CommentAuthor("Ann", id="7")


def post(source="Hello", token="one", **kwargs):
    return services.post(TARGET, author=ANN, source=source, token=token, **kwargs)


def test_typed_text_is_stored_as_typed(mongo):
    first = services.post(TARGET, author=CommentAuthor("$$ROOT"), source="$100 off $$NOW", token="$$ROOT").comment
    assert (first.source, first.author.name) == ("$100 off $$NOW", "$$ROOT")
    assert selectors.get(TARGET, first.slug) == first


def test_post_costs_at_most_six_commands_or_eight_at_first(mongo, commands):
    with commands.recorded():
        first = post().comment
    assert len(commands) <= 8, commands.names
    with commands.recorded():
        post("Reply", "two", parent=first.slug)
    assert len(commands) <= 6, commands.names


def test_page_costs_two_commands(mongo, commands):
    post()
    with commands.recorded():
        assert len(selectors.page(TARGET).comments) == 1
    assert len(commands) == 2, commands.names


def test_token_sent_again_finds_the_comment_also_when_closed(mongo):
    first = post()
    services.close(TARGET)
    again = post()
    assert (again.comment, first.new, again.new) == (first.comment, True, False)
    with pytest.raises(DiscussionClosed):
        post(token="two")


@pytest.mark.parametrize("parent", ["aaaaaaaaaaaaaaaa", "$$ROOT", "no slug"])
def test_reply_to_an_invalid_parent_is_refused(mongo, parent):
    post()
    with pytest.raises(InvalidParent):
        post("Reply", "two", parent=parent)


@pytest.mark.parametrize("source", ["", "  \n", "x" * 10_001, "a\x00b"])
def test_unstorable_text_uses_no_number(mongo, source):
    with pytest.raises(InvalidComment):
        post(source)
    assert not selectors.discussion(TARGET).begun


def test_conflicting_edit_returns_the_current_comment(mongo):
    first = post().comment
    edited = services.edit(TARGET, first.slug, source="Mine", rev=1, token="edit")
    assert services.edit(TARGET, first.slug, source="Mine", rev=1, token="edit") == edited
    with pytest.raises(EditConflict) as conflict:
        services.edit(TARGET, first.slug, source="Other", rev=1, token="other")
    assert conflict.value.current == edited


def test_removed_comment_is_restored_with_its_history(mongo):
    first = post().comment
    removed = services.remove(TARGET, first.slug)
    assert (removed.source, removed.author.name, selectors.count(TARGET)) == ("", "", 0)
    restored = services.restore(TARGET, first.slug)
    assert (restored.source, restored.author, selectors.count(TARGET)) == ("Hello", ANN, 1)
    assert [entry.comment.source for entry in selectors.history(TARGET, first.slug)] == ["", "Hello"]


def test_history_is_read_in_the_order_of_its_index(mongo, commands):
    first = post("One").comment
    for rev, source in enumerate(("Two", "Three"), 1):
        services.edit(TARGET, first.slug, source=source, rev=rev, token=source)
    with commands.recorded():
        assert [entry.comment.source for entry in selectors.history(TARGET, first.slug)] == ["Two", "One"]
    (asked,) = [event for event in commands.sent if event.command.get("find") == "comments.history"]
    assert not {"SORT", "COLLSCAN"} & set(stages(explain(mongo, asked)))


def test_approved_comment_gets_its_original_place_once(mongo):
    post("First", "1")
    held = services.hold(TARGET, author=ANN, source="Held", token="2").held
    post("Third", "3")
    assert selectors.held() == (held,)
    assert pending.approve(held.id) == pending.approve(held.id)
    assert [comment.source for comment in selectors.page(TARGET).comments] == ["First", "Held", "Third"]
    assert (selectors.count(TARGET), selectors.held()) == (3, ())


def test_email_is_stored_separately(mongo):
    first = post(email="ann@example.org").comment
    assert "ann@example.org" not in repr(first)
    assert selectors.email_of(first) == "ann@example.org"


def test_newest_and_own_comments_cover_all_discussions(mongo):
    other = Target("auth.user", "650000000000000000000002")
    post("Here", "1")
    services.post(other, author=ANN, source="There", token="1")
    assert [comment.source for comment in selectors.recent(10)] == ["There", "Here"]
    assert [comment.source for comment in selectors.by_author("7")] == ["There", "Here"]


def test_erased_author_leaves_only_tombstones(mongo):
    first = post().comment
    services.edit(TARGET, first.slug, source="Edited", rev=1, token="edit")
    assert privacy.erase_author(id="7") == 1
    assert selectors.get(TARGET, first.slug).removed
    assert (selectors.count(TARGET), selectors.history(TARGET, first.slug)) == (0, ())


WRITTEN = datetime(2014, 12, 10, 8, 56, tzinfo=UTC)


def imported(source, token, **kwargs):
    return NewComment(author=ANN, source=source, html=source, token=token, posted=WRITTEN, **kwargs)


def test_slug_of_an_import_is_predicted_at_any_depth(mongo):
    parent = ""
    for depth in range(10):
        new = imported("Deeper", f"level {depth}", parent=parent)
        parent = importing.slug_of(new)
        assert importing.import_(TARGET, [new]) == 1
        assert selectors.get(TARGET, parent).source == "Deeper"
    assert parent.count("/") == 7


def test_held_import_keeps_its_time_also_in_closed_ones(mongo):
    importing.import_(TARGET, [imported("First", "one")])
    services.close(TARGET)
    first, again = (importing.hold_imported(TARGET, imported("Waits", "two"), reasons=("imported",)) for _ in range(2))
    assert (first.new, again.new, first.held) == (True, False, again.held)
    assert (first.held.posted, first.held.reasons) == (WRITTEN, ("imported",))
    assert pending.approve(first.held.id).posted == WRITTEN
    services.open(TARGET)
    assert post(token="three").comment.posted > WRITTEN


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(("order", "to_show", "to_post"), [("oldest", 2, 6), ("threaded", 3, 7)])
def test_buckets_stay_within_their_command_budget(mongo, commands, settings, order, to_show, to_post):
    entry = {"LAYOUT": "buckets", "ORDER": order, "OPTIONS": {"SIZE": 10}}
    settings.COMMENTS = {"TARGETS": {TARGET.label: entry}}
    with commands.recorded():
        first = post().comment
    assert len(commands) <= to_post + 2, commands.names
    for n in range(35):
        with commands.recorded():
            post(str(n), str(n), parent=first.slug if n % 2 else "")
        if not {"commitTransaction", "abortTransaction"} & set(commands.names):
            assert len(commands) <= to_post, commands.names
    for page in ({}, {"size": 30}, {"at": first.slug} if order == "oldest" else {"after": first.full_slug}):
        with commands.recorded():
            assert selectors.page(TARGET, **{"size": 10, **page}).comments
        assert len(commands) <= to_show + ("at" in page), commands.names


def test_only_catalogue_and_commit_are_written_without_waiting(mongo, commands):
    """If the server loses the commit, a claim remains. The claim and the comment itself are durable before."""
    post()
    with commands.recorded():
        post("Two", "two")
    writes = [event for event in commands.sent if "writeConcern" in event.command]
    waited = [(event.command_name, event.command["writeConcern"]["w"]) for event in writes]
    assert waited == [("findAndModify", "majority"), ("insert", "majority"), ("insert", 1), ("update", 1)]


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    ("layout", "order", "collection"),
    [
        ("embedded", "oldest", "auth_user"),
        ("buckets", "oldest", "comment_pages"),
        ("buckets", "threaded", "comment_pages"),
    ],
)
def test_last_comment_replicates_only_itself(mongo, settings, layout, order, collection):
    settings.COMMENTS = {"TARGETS": {TARGET.label: {"LAYOUT": layout, "ORDER": order}}}
    mongo.auth_user.insert_one(account(ObjectId(TARGET.pk)))
    for n in range(30):
        post(f"{n} " + "x" * 2_000, str(n))
    query = {"ns": f"{mongo.name}.{collection}", "op": "u"}
    logged = mongo.client.local["oplog.rs"].find(query).sort("$natural", -1).limit(1)[0]
    assert len(encode(logged)) < 3 * 2_000
