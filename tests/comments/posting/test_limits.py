"""Limits for one reader: texts are measured before they are rendered, previews and edits are counted."""

import pytest
from django.test import Client

from marginalia.comments.errors import InvalidComment
from marginalia.comments.posting import own, preparation, spam
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, HeldComment
from tests.support.comments import site
from tests.support.comments.site import change_url

pytestmark = pytest.mark.usefixtures("mongo")

TOO_LONG = "and the maximum is 10000."


@pytest.fixture
def rendered(monkeypatch):
    """The texts that were rendered during the test."""
    texts, render = [], preparation.render
    monkeypatch.setattr(preparation, "render", lambda source: texts.append(source) or render(source))
    return texts


@pytest.mark.parametrize("more", [{}, {"preview": "1"}])
def test_text_that_is_too_long_is_returned_unrendered(client, post_page, rendered, more):
    text = "*x* " * 15_000
    refused = site.post(client, post_page, text, **more)
    assert (refused.status_code, rendered) == (422, [])
    assert TOO_LONG in refused.content.decode()
    assert site.fields_of(refused.content.decode())["text"] == text
    assert site.post(client, post_page, "x" * 10_000, **more).status_code == (200 if more else 302)


@pytest.mark.parametrize("mode", ["open", "hold-all"])
def test_edit_that_is_too_long_is_returned_unrendered(client, post_page, rules, rendered, mode):
    rules(MODE=mode)
    site.post(client, post_page, "Mine")
    comment = (*selectors.held(), *selectors.iterate(post_page))[0]
    data = site.fields_of(client.get(change_url("edit", comment)).content.decode())
    rendered.clear()
    refused = client.post(change_url("edit", comment), data | {"text": "x" * 10_001})
    assert (refused.status_code, rendered) == (422, [])
    assert TOO_LONG in refused.content.decode()
    assert site.fields_of(refused.content.decode())["text"] == "x" * 10_001


def test_edit_by_a_moderator_is_limited_too(client, post_page, moderator, rendered):
    comment = site.post_directly(post_page)
    rendered.clear()
    client.force_login(moderator)
    refused = client.post(change_url("edit", comment), {"text": "x" * 10_001, "rev": "1", "nonce": "n"})
    assert TOO_LONG in refused.content.decode()
    assert rendered == []


def test_services_check_the_length_before_rendering(post_page, rendered):
    with pytest.raises(InvalidComment, match="too long"):
        preparation.prepare(author=CommentAuthor("Ann"), source="x" * 10_001, token="1")
    assert rendered == []


def test_previews_of_a_form_are_limited_and_keep_the_text(client, post_page, rules, rendered):
    rules(RATE=(1, 600))
    data = site.fill(client, post_page, preview="1")
    for n in range(spam.PREVIEWS):
        assert site.send(client, data | {"text": f"Text {n}"}).status_code == 200
    rendered.clear()
    refused = site.send(client, data | {"text": "One more"})
    assert (refused.status_code, rendered) == (422, [])
    assert "many previews in a short time" in refused.content.decode()
    again = site.fields_of(refused.content.decode())
    assert again["text"] == "One more"
    assert site.send(client, again).status_code == 302, "posts are counted apart"


def test_previews_are_limited_by_account_until_erased(post_page, rules, ann):
    rules(RATE=(1, 600))
    browsers = [Client(REMOTE_ADDR=f"192.0.{n}.1") for n in range(spam.PREVIEWS + 1)]
    for browser in browsers:
        browser.force_login(ann)
    codes = [site.post(browser, post_page, preview="1").status_code for browser in browsers]
    assert codes == [200] * spam.PREVIEWS + [422]
    assert site.post(Client(REMOTE_ADDR="198.51.100.1"), post_page, preview="1").status_code == 200
    assert spam.erase_counts(user=str(ann.pk)) == 1
    assert site.post(browsers[0], post_page, preview="1").status_code == 200


@pytest.fixture(params=["public", "waiting"])
def mine(request, client, post_page, rules):
    """An author's own comment, which can be edited once in ten minutes, because RATE also counts the post."""
    mode = "open" if request.param == "public" else "hold-all"
    rules(MODE=mode)
    site.post(client, post_page, "Mine")
    rules(MODE=mode, RATE=(2, 600))
    return (*selectors.held(), *selectors.iterate(post_page))[0]


def now_of(comment):
    """Return a comment as it is stored now."""
    return (
        selectors.get_held(comment.id)
        if isinstance(comment, HeldComment)
        else selectors.get(comment.target, comment.slug)
    )


def edit_form(client, comment):
    return site.fields_of(client.get(change_url("edit", comment)).content.decode())


def edit(client, comment, text):
    return client.post(change_url("edit", comment), edit_form(client, comment) | {"text": text})


def test_edits_count_like_posts_and_keep_the_text(client, post_page, mine, rendered):
    first = edit_form(client, mine) | {"text": "One"}
    for _ in range(2):
        assert client.post(change_url("edit", mine), first).status_code == 302, "the same form again is one change"
    rendered.clear()
    refused = client.post(change_url("edit", mine), first | {"rev": "2", "text": "Two"})
    assert (refused.status_code, rendered) == (422, []), "also under the name of the first"
    sly = {"text": "[a](http://a.example) [b](http://b.example) [c](http://c.example)"}
    assert client.post(change_url("edit", mine), first | sly).status_code == 422, (
        "this is the first, and gives nothing back"
    )
    assert client.post(change_url("edit", mine), first | {"rev": "2", "text": "Two"}).status_code == 422
    assert "edited many comments in a short time" in refused.content.decode()
    assert site.fields_of(refused.content.decode())["text"] == "Two"
    assert site.post(client, post_page, "Another").status_code == 422, "posts are counted with them"
    assert now_of(mine).source == "One"


def test_refused_edit_is_not_counted(client, post_page, rules):
    site.post(client, post_page, "Mine")
    (mine,) = selectors.iterate(post_page)
    rules(RATE=(2, 600), MAX_LINKS=0)
    for _ in range(3):
        refused = edit(client, mine, "[a](http://a.example)")
        assert "would need a moderator" in refused.content.decode()
    assert edit(client, mine, "One").status_code == 302


def test_conflicting_edit_is_not_counted(client, mine, rules):
    stale = edit_form(client, mine) | {"text": "Two"}
    rules(RATE=(3, 600))
    edit(client, mine, "One")
    for n in range(3):
        assert (
            "was changed in another window"
            in client.post(change_url("edit", mine), stale | {"nonce": f"n{n}"}).content.decode()
        )
    assert edit(client, mine, "Two").status_code == 302
    assert edit(client, mine, "Three").status_code == 422


def test_edits_are_counted_by_account_too(post_page, rules, ann):
    rules(RATE=(2, 600))
    browsers = [Client(REMOTE_ADDR=f"192.0.{n}.1") for n in range(3)]
    for browser in browsers:
        browser.force_login(ann)
    site.post(browsers[0], post_page, "Mine")
    comment = next(iter(selectors.iterate(post_page)))
    assert [edit(browser, comment, browser.session.session_key).status_code for browser in browsers[1:]] == [302, 422]


def test_author_can_edit_a_comment_a_limited_number_of_times(client, mine, rules, monkeypatch):
    rules(RATE=(1000, 600))
    monkeypatch.setattr(own, "MAX_CHANGES", 2)
    for text in ("One", "Two"):
        ahead = edit_form(client, mine) | {"rev": "3", "text": "Three"}
        last = edit_form(client, mine) | {"text": text}
        assert client.post(change_url("edit", mine), last).status_code == 302
    assert client.post(change_url("edit", mine), last).status_code == 302, (
        "the same form again is the change that was made"
    )
    assert change_url("edit", mine) not in client.get(site.form_url(mine.target)).content.decode()
    for refused in (client.post(change_url("edit", mine), ahead), edit(client, mine, "Three")):
        assert refused.status_code == 422
        assert "You have edited this comment too often." in refused.content.decode()
        assert site.fields_of(refused.content.decode())["text"] == "Three"
    assert now_of(mine).source == "Two"
    if not isinstance(mine, HeldComment):
        assert [entry.comment.source for entry in selectors.history(mine.target, mine.slug)] == ["One", "Mine"]


def test_edit_limit_applies_to_the_revision_sent(client, mine, rules, monkeypatch):
    """Many concurrent edits that name the next revision must not all pass."""
    rules(RATE=(1000, 600))
    monkeypatch.setattr(own, "MAX_CHANGES", 2)
    refused = client.post(change_url("edit", mine), edit_form(client, mine) | {"rev": "3", "text": "Three"})
    assert "too often" in refused.content.decode()


def test_moderators_edit_without_a_limit(client, post_page, rules, moderator, monkeypatch):
    rules(RATE=(0, 600))
    monkeypatch.setattr(own, "MAX_CHANGES", 1)
    comment = site.post_directly(post_page)
    client.force_login(moderator)
    for text in ("One", "Two", "Three"):
        assert edit(client, comment, text).status_code == 302
    assert now_of(comment).source == "Three"


@pytest.mark.parametrize("rev", [10**30, -(10**30)])
def test_revision_beyond_all_numbers_is_refused(client, mine, rev):
    refused = client.post(change_url("edit", mine), edit_form(client, mine) | {"rev": str(rev), "text": "One"})
    assert refused.status_code == 422
    assert site.fields_of(refused.content.decode())["text"] == "One"
