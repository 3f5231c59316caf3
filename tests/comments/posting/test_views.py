"""Writing comments over HTTP, as browsers without JavaScript do."""

import re

import pytest
from django.test import Client

from marginalia.comments.moderation import pending
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from tests.support.comments import site
from tests.support.comments.site import post_directly

pytestmark = pytest.mark.usefixtures("mongo")


def test_posted_comment_is_shown_on_the_post(client, post_page):
    response = site.post(client, post_page, "I *agree*", name="Ann")
    assert response.status_code == 302
    address, anchor = response["Location"].split("#")
    html = client.get(address).content.decode()
    assert f'id="{anchor}"' in html
    assert "1 comment<" in html
    assert "Ann" in html


def test_form_sent_twice_posts_once(client, post_page):
    data = site.fill(client, post_page, "Only once")
    first, second = site.send(client, data), site.send(client, data)
    assert first["Location"] == second["Location"]
    assert [comment.source for comment in selectors.iterate(post_page)] == ["Only once"]


def test_second_text_in_a_sent_form_gets_a_new_token(client, post_page):
    data = site.fill(client, post_page, "One")
    site.send(client, data)
    refused = site.send(client, {**data, "text": "Two"})
    assert refused.status_code == 422
    again = site.fields_of(refused.content.decode())
    assert again["text"] == "Two"
    assert again["token"] != data["token"]
    assert site.send(client, again).status_code == 302
    assert [comment.source for comment in selectors.iterate(post_page)] == ["One", "Two"]


def test_reply_on_its_own_page_is_placed_below_its_parent(client, post_page):
    parent = post_directly(post_page)
    page = client.get(site.form_url(post_page, parent.slug)).content.decode()
    assert "Reply to Bea" in page
    assert "First" in page
    site.post(client, post_page, "Answer", parent=parent.slug)
    reply = list(selectors.iterate(post_page))[1]
    assert (reply.parent, reply.source) == (parent.slug, "Answer")


def test_reply_redirects_to_its_place_in_the_thread(client, post_page):
    first = post_directly(post_page)
    post_directly(post_page, "Second", "t2")
    response = site.post(client, post_page, "Answer", parent=first.slug)
    address, anchor = response["Location"].split("#")
    html = client.get(address).content.decode()
    assert 'class="comments comments-threaded"' in html
    assert html.index(f'id="{anchor}"') < html.index("Second")


def test_preview_shows_the_text_and_posts_nothing(client, post_page):
    shown = site.post(client, post_page, "One\n\nTwo", preview="1")
    html = shown.content.decode()
    assert re.search(r"<p>One</p>\s*<p>Two</p>", html)
    assert selectors.count(post_page) == 0
    assert site.send(client, site.fields_of(html)).status_code == 302
    assert selectors.count(post_page) == 1


REFUSALS = {
    "no text": ({}, {"text": "  "}),
    "no name": ({}, {"name": ""}),
    "no address": ({}, {"email": "not an address"}),
    "closed": ({"MODE": "closed"}, {}),
    "members": ({"MODE": "members"}, {}),
    "trap": ({}, {"homepage": "http://spam.example"}),
    "speed": ({"MIN_SECONDS": 60}, {}),
    "rate": ({"RATE": (0, 600)}, {}),
    "too long": ({"MAX_LENGTH": 3}, {}),
    "expired": ({"FORM_HOURS": -1}, {}),
}


@pytest.mark.parametrize("reason", REFUSALS)
def test_refused_form_returns_the_text_and_a_new_token(client, post_page, rules, reason):
    setting, field = REFUSALS[reason]
    data = site.fill(client, post_page, "My long text", name="Ann") | field
    rules(**setting)
    refused = site.send(client, data)
    assert refused.status_code == 422
    again = site.fields_of(refused.content.decode())
    assert again["text"].strip() == data["text"].strip()
    assert again.get("name", "") == data["name"]
    assert again["token"] != data["token"]
    assert selectors.count(post_page) == 0
    rules(MODE="open", MIN_SECONDS=0, RATE=(5, 600), MAX_LENGTH=100, FORM_HOURS=1)
    mended = again | {"homepage": "", "text": "My long text", "name": "Ann", "email": ""}
    assert site.send(client, mended).status_code == 302
    assert selectors.count(post_page) == 1


def test_logout_keeps_the_text(client, post_page, ann):
    client.force_login(ann)
    data = site.fill(client, post_page, "While logged in")
    client.logout()
    refused = site.send(client, data | {"name": ""})
    assert refused.status_code == 422
    again = site.fields_of(refused.content.decode())
    assert again["text"] == "While logged in"
    assert "no longer logged in" in refused.content.decode()
    assert site.send(client, again | {"name": "Ann"}).status_code == 302


def test_missing_csrf_cookie_keeps_the_text(post_page):
    client = Client(enforce_csrf_checks=True)
    data = site.fill(client, post_page, "My text")
    client.cookies.clear()
    refused = site.send(client, data)
    assert refused.status_code == 422
    again = site.fields_of(refused.content.decode())
    assert again["text"] == "My text"
    assert selectors.count(post_page) == 0
    assert site.send(client, again).status_code == 302
    assert selectors.count(post_page) == 1


def test_forged_token_keeps_the_text_and_posts_nothing(client, post_page):
    data = site.fill(client, post_page, "My text")
    other = "nodes.node:" + "0" * 24
    for token in ("", "x", data["token"][:-3] + "abc"):
        response = site.send(client, data | {"token": token, "discussion": other})
        assert response.status_code == 422
        assert "My text" in response.content.decode()
    assert selectors.count(post_page) == 0


def test_reply_to_a_removed_comment_keeps_the_text(client, post_page):
    parent = post_directly(post_page)
    data = site.fill(client, post_page, "Answer", parent=parent.slug)
    services.remove(post_page, parent.slug)
    refused = site.send(client, data)
    assert refused.status_code == 422
    again = site.fields_of(refused.content.decode())
    assert again["text"] == "Answer"
    assert site.send(client, again).status_code == 302


def test_closed_discussion_lets_authors_edit_their_comments(client, post_page):
    site.post(client, post_page, "Just in time")
    services.close(post_page)
    html = client.get("/news/hello").content.decode()
    assert "This discussion is closed." in html
    assert "Write a comment" not in html
    fragment = client.get(site.form_url(post_page), {"fragment": "1"}).content.decode()
    assert "Write a comment" not in fragment
    assert "Just in time" in fragment
    assert ">Edit</a>" in fragment
    assert "<form" not in fragment


def test_preview_in_a_closed_discussion_keeps_the_text(client, post_page):
    data = site.fill(client, post_page, "Long words")
    services.close(post_page)
    page = site.send(client, {**data, "preview": "1"}).content.decode()
    assert site.fields_of(page)["text"] == "Long words"


def test_login_for_members_keeps_the_text_and_returns(client, post_page, rules):
    data = site.fill(client, post_page, "My words", name="")
    rules(MODE="members")
    assert site.fields_of(site.send(client, data).content.decode())["text"] == "My words"
    form = site.form_url(post_page)
    assert "?next=/news/hello" in client.get(form, {"fragment": "1"}).content.decode()
    assert f"?next={form}" in client.get(form).content.decode()


def test_comment_that_cannot_be_edited_has_no_edit_link(client, post_page, rules):
    site.post(client, post_page, "Just said")
    rules(MODE="hold-all")
    own = client.get(site.form_url(post_page)).content.decode()
    assert ">Delete</a>" in own
    assert ">Edit</a>" not in own


def test_moderators_edit_their_comments_in_mode_hold_all(client, post_page, rules, moderator):
    rules(MODE="hold-all")
    client.force_login(moderator)
    site.post(client, post_page, "Just said")
    assert ">Edit</a>" in client.get(site.form_url(post_page)).content.decode()


def test_held_comment_is_shown_only_to_its_author(client, post_page, rules):
    rules(MODE="hold-first")
    response = site.post(client, post_page, "First words")
    assert "First words" in client.get(response["Location"]).content.decode()
    form = site.form_url(post_page)
    assert "waiting for approval" in client.get(form).content.decode()
    stranger = Client()
    assert "First words" not in stranger.get(form).content.decode()
    assert stranger.get(response["Location"]).status_code == 404
    assert selectors.count(post_page) == 0


def test_held_comment_of_an_inline_form_is_shown_inline(client, post_page, rules):
    rules(MODE="hold-all")
    parent = post_directly(post_page, "First")
    answers = {}
    for answered in ("", parent.slug):
        url = site.form_url(post_page, answered)
        shown = client.get(url + ("&" if answered else "?") + "fragment=1").content.decode()
        response = site.send(client, {**site.fields_of(shown), "name": "Ann", "text": f"After {answered}"})
        answers[answered] = response["Location"]
    html = client.get(site.form_url(post_page) + "?fragment=1").content.decode()
    for answered, address in answers.items():
        page, anchor = address.split("#")
        below = f"c-{parent.part}" if answered else ""
        assert f'id="{anchor}" tabindex="-1" data-comments-below="{below}"' in html
        assert f'id="c-{parent.part}"' in client.get(page).content.decode()
    # Without a script, nothing would show it there.
    assert "/posted/" in site.post(client, post_page, "On a page of its own")["Location"]


def test_empty_fields_show_errors_beside_them(client, post_page):
    refused = site.post(client, post_page, "", name="", email="nonsense")
    html = refused.content.decode()
    assert (refused.status_code, " novalidate " in html) == (422, True)
    for field, words in (("name", "Enter your name."), ("text", "Enter a comment.")):
        assert f'<strong class="comment-error" id="comment-{field}_error">{words}</strong>' in html
    assert "Enter an email address such as name@example.org, or leave this field empty." in html
    for ids in re.findall(r'aria-describedby="([^"]*)"', html):
        assert [html.count(f'id="{id}"') for id in ids.split()] == [1] * len(ids.split())
    assert re.findall(r'<[^>]*name="(\w+)"[^>]*autofocus', html) == ["name"]


def test_author_is_trusted_after_an_approved_comment(client, post_page, rules):
    rules(MODE="hold-first")
    site.post(client, post_page, "First words")
    pending.approve(selectors.held()[0].id)
    site.post(client, post_page, "More words")
    assert selectors.count(post_page) == 2
    site.post(Client(), post_page, "A stranger by the same name")
    assert selectors.count(post_page) == 2


def test_account_uses_its_name_and_is_trusted_by_comments(client, post_page, rules, ann):
    rules(MODE="hold-first")
    client.force_login(ann)
    site.post(client, post_page, "Hello", name="Somebody else")
    held = selectors.held()[0]
    assert (held.author.name, held.author.id) == ("Ann", str(ann.pk))
    pending.approve(held.id)
    client.cookies.pop("comments_own")
    site.post(client, post_page, "Again")
    assert selectors.count(post_page) == 2
