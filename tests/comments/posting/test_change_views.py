"""Editing comments on their pages: authors within the time limit, moderators, and readers who flag."""

import pytest
from bson import ObjectId
from django.test import Client
from django.urls import reverse

from marginalia.comments.moderation import pending
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Verdict
from tests.support.comments import site
from tests.support.comments.site import change_url, post_directly

pytestmark = pytest.mark.usefixtures("mongo")


def own_comment(client, target, text="Mine"):
    site.post(client, target, text)
    return list(selectors.iterate(target))[-1]


def test_author_edits_within_the_time_limit(client, post_page):
    comment = own_comment(client, post_page)
    page = client.get(change_url("edit", comment)).content.decode()
    response = client.post(change_url("edit", comment), site.fields_of(page) | {"text": "Mended"})
    assert response.status_code == 302
    assert selectors.get(post_page, comment.slug).source == "Mended"


def test_late_edit_is_refused_with_its_text(client, post_page, rules):
    comment = own_comment(client, post_page)
    data = site.fields_of(client.get(change_url("edit", comment)).content.decode())
    rules(EDIT_MINUTES=0)
    response = client.post(change_url("edit", comment), data | {"text": "Mended"})
    assert response.status_code == 422
    assert "Mended" in response.content.decode()
    assert selectors.get(post_page, comment.slug).source == "Mine"
    assert client.get(change_url("edit", comment)).status_code == 404


def test_edit_with_an_old_token_is_refused_with_its_text(post_page, ann):
    client = Client(enforce_csrf_checks=True)
    client.force_login(ann)
    comment = own_comment(client, post_page)
    data = site.fields_of(client.get(change_url("edit", comment)).content.decode())
    client.cookies["csrftoken"] = "y" * 32  # as after a login in another tab
    refused = client.post(change_url("edit", comment), data | {"text": "Mended </textarea><script>"})
    assert refused.status_code == 422
    assert selectors.get(post_page, comment.slug).source == "Mine"
    assert "<script>" not in refused.content.decode().partition("<textarea")[2].partition("</form>")[0]
    again = site.fields_of(refused.content.decode())
    assert again["text"] == "Mended </textarea><script>"
    assert client.post(change_url("edit", comment), again).status_code == 302
    assert selectors.get(post_page, comment.slug).source == "Mended </textarea><script>"


def test_edit_after_logout_is_refused_with_its_text(post_page, ann):
    client = Client(enforce_csrf_checks=True)
    client.force_login(ann)
    comment = own_comment(client, post_page)
    data = site.fields_of(client.get(change_url("edit", comment)).content.decode())
    client.cookies.clear()
    refused = client.post(change_url("edit", comment), data | {"text": "Mended"})
    assert refused.status_code == 422
    client.force_login(ann)
    again = site.fields_of(refused.content.decode())
    assert again["text"] == "Mended"
    assert client.post(change_url("edit", comment), again).status_code == 302
    assert selectors.get(post_page, comment.slug).source == "Mended"


def test_edit_of_a_deleted_comment_returns_the_text(client, post_page, mongo):
    comment = own_comment(client, post_page)
    data = site.fields_of(client.get(change_url("edit", comment)).content.decode())
    mongo["cms.nodes"].delete_one({"_id": ObjectId(post_page.pk)})
    refused = client.post(change_url("edit", comment), data | {"text": "Mended"})
    assert refused.status_code == 404
    assert "Mended</textarea>" in refused.content.decode()


@pytest.mark.parametrize("action", ["delete", "flag"])
def test_one_click_action_needs_a_csrf_token(post_page, action):
    client = Client(enforce_csrf_checks=True)
    comment = own_comment(client, post_page)
    assert client.post(change_url(action, comment), {"rev": "0"}).status_code == 403
    assert not selectors.get(post_page, comment.slug).removed


def test_edit_after_a_concurrent_edit_is_shown_and_sent_again(client, post_page):
    comment = own_comment(client, post_page)
    data = site.fields_of(client.get(change_url("edit", comment)).content.decode())
    services.edit(post_page, comment.slug, source="Theirs", rev=comment.rev, token="x")
    response = client.post(change_url("edit", comment), data | {"text": "Mended"})
    assert response.status_code == 422
    again = site.fields_of(response.content.decode())
    assert again["text"] == "Mended"
    assert client.post(change_url("edit", comment), again).status_code == 302
    assert selectors.get(post_page, comment.slug).source == "Mended"


def test_edit_of_a_busy_discussion_keeps_the_text(client, post_page, mongo, monkeypatch):
    comment = own_comment(client, post_page)
    data = site.fields_of(client.get(change_url("edit", comment)).content.decode())
    site.close_gate(mongo, post_page, monkeypatch)
    response = client.post(change_url("edit", comment), data | {"text": "Mended"})
    assert response.status_code == 422
    assert site.fields_of(response.content.decode())["text"] == "Mended"
    assert (
        "Many people are commenting right now. Your comment has not been saved yet. Please send it again."
        in response.content.decode()
    )


@pytest.fixture(params=["by cookie", "by account"])
def waiting(request, client, post_page, rules, ann):
    """A held comment and its author: recognized by the cookie, or by the account in another browser."""
    rules(MODE="hold-first")
    if request.param == "by account":
        client.force_login(ann)
    site.post(client, post_page, "Mine")
    if request.param == "by account":
        client.cookies.pop("comments_own")
    return selectors.held()[0]


def test_author_edits_a_held_comment(client, post_page, waiting):
    form = client.get(site.form_url(post_page)).content.decode()
    assert change_url("edit", waiting) in form
    page = client.get(change_url("edit", waiting)).content.decode()
    response = client.post(change_url("edit", waiting), site.fields_of(page) | {"text": "*Mended*"})
    assert "<em>Mended</em>" in client.get(response["Location"]).content.decode()
    assert [(held.source, held.rev) for held in selectors.held()] == [("*Mended*", 2)]
    assert pending.approve(waiting.id).html == "<p><em>Mended</em></p>"


def test_author_deletes_a_held_comment_without_a_trace(client, post_page, waiting, mongo):
    assert "Delete this comment?" in client.get(change_url("delete", waiting)).content.decode()
    assert selectors.held() == (waiting,)
    client.post(change_url("delete", waiting))
    assert selectors.held() == ()
    assert mongo["comments.ip_hashes"].count_documents({}) == 0
    assert "Mine" not in str(list(mongo["comments.pending"].find()))
    assert selectors.count(post_page) == 0


def test_strangers_and_late_authors_cannot_edit_held_comments(client, post_page, rules, waiting):
    stranger = Client()
    data = site.fields_of(client.get(change_url("edit", waiting)).content.decode()) | {"text": "Late"}
    for name in ("edit", "delete"):
        assert stranger.get(change_url(name, waiting)).status_code == 404
        assert stranger.post(change_url(name, waiting), data).status_code == 404
    rules(MODE="hold-first", EDIT_MINUTES=0)
    assert change_url("edit", waiting) not in client.get(site.form_url(post_page)).content.decode()
    late = client.post(change_url("edit", waiting), data)
    assert late.status_code == 422
    assert site.fields_of(late.content.decode())["text"] == "Late"
    assert client.post(change_url("delete", waiting)).status_code == 404
    assert selectors.held() == (waiting,)


def test_form_of_a_withdrawn_comment_returns_its_text(client, post_page, rules):
    rules(MODE="hold-all")
    data = site.fill(client, post_page, "Mine")
    site.send(client, data)
    client.post(change_url("delete", selectors.held()[0]))
    refused = site.send(client, data)
    again = site.fields_of(refused.content.decode())
    assert (refused.status_code, again["text"]) == (422, "Mine")
    assert again["token"] != data["token"]
    assert site.send(client, again).status_code == 302
    assert [held.source for held in selectors.held()] == ["Mine"]


def test_moderator_publishes_only_the_shown_revision(client, post_page, rules, moderator):
    rules(MODE="hold-all")
    site.post(client, post_page, "Harmless")
    held = selectors.held()[0]
    client.force_login(moderator)
    url = reverse("comments-approve", args=[held.id])
    assert f'name="rev" value="{held.rev}"' in client.get(url).content.decode()
    services.change_held(held.id, source="Spam", rev=held.rev)
    shown = client.post(url, {"rev": held.rev}).content.decode()
    assert "Spam" in shown
    assert "has changed this comment" in shown
    assert selectors.count(post_page) == 0
    client.post(url, {"rev": held.rev + 1})
    assert [comment.source for comment in selectors.iterate(post_page)] == ["Spam"]


@pytest.mark.parametrize("name", ["edit", "delete"])
def test_strangers_change_nothing(client, post_page, name):
    comment = own_comment(client, post_page)
    stranger = Client()
    assert stranger.get(change_url(name, comment)).status_code == 404
    stranger.post(change_url(name, comment), {"text": "Mine now", "rev": comment.rev, "nonce": "n"})
    assert selectors.get(post_page, comment.slug) == comment


def test_author_deletes_only_by_post(client, post_page):
    comment = own_comment(client, post_page)
    assert "Delete this comment?" in client.get(change_url("delete", comment)).content.decode()
    assert not selectors.get(post_page, comment.slug).removed
    assert client.post(change_url("delete", comment)).url == "/news/hello#comments"
    assert selectors.get(post_page, comment.slug).removed


def test_deleting_a_reply_returns_to_its_parent(client, post_page):
    parent = post_directly(post_page, "Parent", "b")
    for text in ("Once", "Again"):
        site.post(client, post_page, text, parent=parent.slug)
        answer = next(entry for entry in selectors.iterate(post_page) if entry.source == text)
        page = client.get(change_url("delete", answer)).content.decode()
        assert f'#c-{answer.part}">No, go back' in page
        if text == "Again":
            services.remove(post_page, parent.slug)
        address = client.post(change_url("delete", answer)).url
        assert address.endswith("#comments" if text == "Again" else f"#c-{parent.part}")
        assert client.get(address).status_code == 200


def test_flag_asks_and_counts_each_reader_once(client, post_page):
    from marginalia.comments.posting import flags

    comment = post_directly(post_page)
    client.get(change_url("flag", comment))
    assert flags.list_flagged() == []
    for _ in range(2):
        thanks = client.post(change_url("flag", comment)).content.decode()
        assert "comments.css" in thanks
        assert f'#c-{comment.part}">←' in thanks
    assert [(f.slug, f.count) for f in flags.list_flagged()] == [(comment.slug, 1)]


def test_flags_are_limited_by_address_and_account(client, post_page, rules, moderator):
    from marginalia.comments.posting import flags

    rules(RATE=(3, 600))
    comments = [
        services.post(post_page, author=CommentAuthor("Bea"), source=f"Number {n}", token=f"{n:016}").comment
        for n in range(6)
    ]
    statuses = [client.post(change_url("flag", comment)).status_code for comment in comments]
    assert statuses == [200] * 3 + [429] * 3
    assert len(flags.list_flagged()) == 3
    elsewhere = Client(REMOTE_ADDR="198.51.100.7")
    assert elsewhere.post(change_url("flag", comments[5])).status_code == 200
    client.force_login(moderator)
    assert [client.post(change_url("flag", comment)).status_code for comment in comments] == [200] * 6


def test_moderator_approves_only_by_post(client, post_page, rules, moderator):
    rules(MODE="hold-all")
    site.post(client, post_page, "Waiting")
    held = selectors.held()[0]
    url = reverse("comments-approve", args=[held.id])
    assert client.get(url).status_code == 302
    client.force_login(moderator)
    client.get(url)
    assert selectors.get_held(held.id).verdict is Verdict.WAITING
    client.post(url)
    assert selectors.count(post_page) == 1


def test_removed_comment_is_shown_only_if_it_has_replies(client, post_page):
    lone, parent = post_directly(post_page, "Lone", "a"), post_directly(post_page, "Parent", "b")
    post_directly(post_page, "Child", "c", parent=parent.slug)
    for comment in (lone, parent):
        services.remove(post_page, comment.slug)
    html = client.get("/news/hello").content.decode()
    assert lone.part not in html
    assert parent.part in html
    assert "Parent" not in html
    assert html.count("This comment was removed.") == 1
