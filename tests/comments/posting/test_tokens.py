"""A form's token stands for one action and its text: repeating it does nothing, and another text is not lost."""

import pytest
from django.urls import reverse

from marginalia.comments.backends import backend
from marginalia.comments.errors import EditConflict, TokenUsed
from marginalia.comments.moderation import pending
from marginalia.comments.operations import importing
from marginalia.comments.posting import preparation, services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor
from tests.support.comments import audit, site
from tests.support.comments.site import change_url

pytestmark = pytest.mark.usefixtures("mongo")

ANN = CommentAuthor("Ann", id="7")
LAYOUTS = ["documents", "embedded", "buckets"]


@pytest.fixture(params=["public", "waiting"])
def mine(request, client, post_page, rules):
    rules(MODE="open" if request.param == "public" else "hold-all")
    site.post(client, post_page, "Mine")
    return (*selectors.held(), *selectors.iterate(post_page))[0]


def text_of(target):
    return (*selectors.held(), *selectors.iterate(target))[0].source


def test_edit_after_back_conflicts_and_is_then_stored(client, post_page, mine):
    form = site.fields_of(client.get(change_url("edit", mine)).content.decode())
    assert client.post(change_url("edit", mine), form | {"text": "One"}).status_code == 302
    assert client.post(change_url("edit", mine), form | {"text": "One"}).status_code == 302
    refused = client.post(change_url("edit", mine), form | {"text": "Two"})
    again = site.fields_of(refused.content.decode())
    assert (refused.status_code, again["text"], text_of(post_page)) == (422, "Two", "One")
    assert client.post(change_url("edit", mine), again).status_code == 302
    assert text_of(post_page) == "Two"


def test_edit_after_back_conflicts_in_the_admin_too(client, post_page, moderator):
    client.force_login(moderator)
    comment = site.post_directly(post_page)
    page = reverse(
        "admin:marginalia_comments_moderation_comment", args=[comment.target.label, comment.target.pk, comment.slug]
    )
    form = {"edit": "1", "rev": "1", "nonce": "n"}
    for _ in range(2):
        assert client.post(page, form | {"text": "One"}).status_code == 302
    refused = client.post(page, form | {"text": "Two"})
    html = refused.content.decode()
    assert (refused.status_code, text_of(post_page)) == (200, "One")
    assert "<p>One</p>" in html
    assert ">\nTwo</textarea>" in html
    again = refused.context["form"].initial
    assert client.post(page, {"edit": "1", **again}).status_code == 302
    assert text_of(post_page) == "Two"


@pytest.mark.parametrize("gone", ["removed", "forgotten"])
def test_admin_returns_the_text_of_a_deleted_comment(client, post_page, moderator, gone):
    client.force_login(moderator)
    comment = site.post_directly(post_page)
    page = reverse(
        "admin:marginalia_comments_moderation_comment", args=[comment.target.label, comment.target.pk, comment.slug]
    )
    if gone == "removed":
        services.remove(post_page, comment.slug)
    else:
        backend().delete_discussion(post_page)
    refused = client.post(page, {"edit": "1", "rev": "1", "nonce": "n", "text": "Thought about for long"})
    assert refused.status_code == (200 if gone == "removed" else 404)
    assert "Thought about for long</textarea>" in refused.content.decode()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_token_with_two_texts_posts_the_first(post_page, rules, layout):
    rules(TARGETS={"nodes.node": {"LAYOUT": layout}})
    first = services.post(post_page, author=ANN, source="One", token="t").comment
    assert services.post(post_page, author=ANN, source="One", token="t").comment == first
    for work in (services.post, services.hold):
        with pytest.raises(TokenUsed):
            work(post_page, author=ANN, source="Two", token="t")
    assert [comment.source for comment in selectors.iterate(post_page)] == ["One"]


def test_one_token_with_two_texts_is_held_once(post_page):
    services.hold(post_page, author=ANN, source="One", token="t")
    with pytest.raises(TokenUsed):
        services.hold(post_page, author=ANN, source="Two", token="t")
    held = services.hold(post_page, author=ANN, source="One", token="t").held
    comment = pending.approve(held.id)
    assert services.post(post_page, author=ANN, source="One", token="t").comment == comment
    with pytest.raises(TokenUsed):
        services.post(post_page, author=ANN, source="Two", token="t")


def test_one_token_with_two_texts_edits_once(post_page):
    comment = site.post_directly(post_page)
    change = {"rev": comment.rev, "token": "n"}
    edited = services.edit(post_page, comment.slug, source="One", **change)
    services.edit(post_page, comment.slug, source="Theirs", rev=2, token="other")
    assert services.edit(post_page, comment.slug, source="One", **change).source == "Theirs", "it was done, once"
    with pytest.raises(EditConflict):
        services.edit(post_page, comment.slug, source="Two", **change)
    assert edited.rev == 2


def test_resent_form_of_an_edited_comment_is_recognized(client, post_page, rules):
    data = site.fill(client, post_page, "One")
    where = site.send(client, data)["Location"]
    (comment,) = selectors.iterate(post_page)
    services.edit(post_page, comment.slug, source="Mended", rev=1, token="n")
    assert site.send(client, data)["Location"] == where
    refused = site.send(client, data | {"text": "Mended"})
    assert (refused.status_code, site.fields_of(refused.content.decode())["text"]) == (422, "Mended")
    assert [one.source for one in selectors.iterate(post_page)] == ["Mended"]


@pytest.mark.parametrize("text", ["One", "Two"])
def test_resent_form_of_a_removed_comment_returns_its_text(client, post_page, text):
    data = site.fill(client, post_page, "One")
    site.send(client, data)
    (comment,) = selectors.iterate(post_page)
    services.remove(post_page, comment.slug)
    refused = site.send(client, data | {"text": text})
    again = site.fields_of(refused.content.decode())
    assert (refused.status_code, again["text"]) == (422, text)
    assert again["token"] != data["token"]
    assert selectors.count(post_page) == 0


def test_imported_comment_is_recognized_by_its_key(post_page):
    from tests.support.comments.making import imported

    assert [importing.import_(post_page, [imported(1, source=text)]) for text in ("One", "Two")] == [1, 0]
    assert [comment.source for comment in selectors.iterate(post_page)] == ["One"]


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_hash_of_a_form_is_erased_with_its_author(mongo, post_page, rules, settings, layout):
    rules(TARGETS={"nodes.node": {"LAYOUT": layout}})
    removed = services.post(post_page, author=ANN, source="One", token="a").comment
    edited = services.post(post_page, author=ANN, source="One", token="b").comment
    services.hold(post_page, author=ANN, source="One", token="c")
    hashes = [
        document["said"] for document in (*audit.stored(post_page, "cms.nodes"), *mongo["comments.pending"].find())
    ]
    assert len({*hashes, preparation.hash_text("a", "One")}) == 3, "one text under three tokens"
    settings.SECRET_KEY = "another" * 8
    assert preparation.hash_text("a", "One") not in hashes
    services.remove(post_page, removed.slug)
    assert services.restore(post_page, removed.slug).text_hash == removed.text_hash
    services.remove(post_page, removed.slug)
    services.edit(post_page, edited.slug, source="Mended", rev=1, token="n")
    backend().erase_author(id="7")
    kept = [*audit.stored(post_page, "cms.nodes"), *mongo["comments.pending"].find(), *mongo["comments.history"].find()]
    assert [document["said"] for document in kept if document["said"]] == []
