"""Reading, writing and changing comments by HTTP, as browsers without JavaScript do it."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from comments.moderation import pending
from comments.posting import services
from comments.reading import selectors
from tests.comments import site
from tests.comments.site import change_url, one

pytestmark = pytest.mark.usefixtures("mongo")


def test_posted_comment_stands_on_the_post(client, post_page):
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


def test_other_text_in_a_form_that_was_sent_comes_back_with_a_fresh_token(client, post_page):
    data = site.fill(client, post_page, "One")
    site.send(client, data)
    refused = site.send(client, {**data, "text": "Two"})
    assert refused.status_code == 422
    again = site.fields_of(refused.content.decode())
    assert again["text"] == "Two"
    assert again["token"] != data["token"]
    assert site.send(client, again).status_code == 302
    assert [comment.source for comment in selectors.iterate(post_page)] == ["One", "Two"]


def test_reply_on_its_own_page_hangs_below_what_it_answers(client, post_page):
    parent = one(post_page)
    page = client.get(site.form_url(post_page, parent.slug)).content.decode()
    assert "Reply to Bea" in page
    assert "First" in page
    site.post(client, post_page, "Answer", parent=parent.slug)
    reply = list(selectors.iterate(post_page))[1]
    assert (reply.parent, reply.source) == (parent.slug, "Answer")


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
def test_refused_form_comes_back_with_text_and_fresh_token(client, post_page, rules, reason):
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


def test_lost_log_in_keeps_the_text(client, post_page, ann):
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


def test_answer_to_what_was_removed_meanwhile_keeps_the_text(client, post_page):
    parent = one(post_page)
    data = site.fill(client, post_page, "Answer", parent=parent.slug)
    services.remove(post_page, parent.slug)
    refused = site.send(client, data)
    assert refused.status_code == 422
    again = site.fields_of(refused.content.decode())
    assert again["text"] == "Answer"
    assert site.send(client, again).status_code == 302


def test_closed_discussion_offers_no_form_but_authors_their_comments(client, post_page):
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


def test_held_comment_is_shown_to_its_author_alone(client, post_page, rules):
    rules(MODE="hold-first")
    response = site.post(client, post_page, "First words")
    assert "First words" in client.get(response["Location"]).content.decode()
    form = site.form_url(post_page)
    assert "waits for a moderator" in client.get(form).content.decode()
    stranger = Client()
    assert "First words" not in stranger.get(form).content.decode()
    assert stranger.get(response["Location"]).status_code == 404
    assert selectors.count(post_page) == 0


def test_author_is_known_once_a_comment_was_approved(client, post_page, rules):
    rules(MODE="hold-first")
    site.post(client, post_page, "First words")
    pending.approve(selectors.held()[0].id)
    site.post(client, post_page, "More words")
    assert selectors.count(post_page) == 2
    site.post(Client(), post_page, "A stranger by the same name")
    assert selectors.count(post_page) == 2


def test_account_bears_its_name_and_is_known_by_its_comments(client, post_page, rules, ann):
    rules(MODE="hold-first")
    client.force_login(ann)
    site.post(client, post_page, "Hello", name="Somebody else")
    held = selectors.held()[0]
    assert (held.author.name, held.author.id) == ("Ann", str(ann.pk))
    pending.approve(held.id)
    client.cookies.pop("comments_own")
    site.post(client, post_page, "Again")
    assert selectors.count(post_page) == 2


@pytest.mark.parametrize("order", ["oldest", "newest", "threaded"])
def test_permalink_opens_the_page_with_the_comment(client, post_page, order):
    comments = [one(post_page, f"Number {n}", f"t{n}") for n in range(120)]
    wanted = comments[70]
    url = reverse("comments-url-redirect", args=[post_page.label, post_page.pk, wanted.slug])
    response = client.get(url, {"order": order})
    address, anchor = response["Location"].split("#")
    html = client.get(address).content.decode()
    assert f'id="{anchor}"' in html
    assert "Number 70<" in html
    assert "Number 119<" not in html or "Number 0<" not in html


def test_every_address_of_a_reply_leads_to_it(client, post_page):
    first = one(post_page, "First", "t1")
    reply = one(post_page, "Reply", "t2", parent=first.slug)
    last = one(post_page, "Last", "t3", parent=reply.slug)
    for comment in (first, reply, last):
        arguments = [post_page.label, post_page.pk, comment.slug]
        address, anchor = client.get(reverse("comments-url-redirect", args=arguments))["Location"].split("#")
        assert f'id="{anchor}"' in client.get(address).content.decode()
        assert "Last" in client.get(reverse("comments-thread", args=arguments)).content.decode()
        assert client.get(reverse("comments-flag", args=arguments)).status_code == 200


def test_permalink_of_a_removed_comment_says_that_it_is_gone_or_leads_to_its_answers(client, post_page):
    lone, parent = one(post_page, "Lone", "a"), one(post_page, "Parent", "b")
    child = one(post_page, "Child", "c", parent=parent.slug)
    for comment in (lone, parent):
        services.remove(post_page, comment.slug)
    gone = client.get(change_url("url-redirect", lone))
    assert (gone.status_code, "This comment was removed." in gone.content.decode()) == (410, True)
    answered = client.get(change_url("url-redirect", parent), follow=True).content.decode()
    assert "This comment was removed." in answered
    assert "Child" in answered
    services.remove(post_page, child.slug)
    assert client.get(change_url("url-redirect", parent)).status_code == 410
    services.restore(post_page, lone.slug)
    assert client.get(change_url("url-redirect", lone)).status_code == 302


def test_pages_lead_through_the_whole_discussion(client, post_page):
    for n in range(120):
        one(post_page, f"Number {n}.", f"t{n}")
    url, seen = "/news/hello", []
    for _ in range(5):
        html = client.get(url).content.decode()
        seen += re.findall(r"Number (\d+)\.", html)
        following = re.search(r'rel="next" href="([^"]*comments=[^"]*)#', html)
        if not following:
            break
        url = following[1]
    assert [int(n) for n in seen] == list(range(120))


def test_comments_of_what_is_not_public_are_nowhere(client, mongo, rules):
    target = site.entry(published=None)
    comment = one(target)
    for name in ("form", "discussion", "feed"):
        assert client.get(reverse(f"comments-{name}", args=[target.label, target.pk])).status_code == 404
    for name in ("url-redirect", "thread", "flag", "delete", "edit"):
        assert client.get(reverse(f"comments-{name}", args=[target.label, target.pk, comment.slug])).status_code == 404


def test_users_and_sessions_are_no_targets(client, ann):
    assert client.get(reverse("comments-form", args=["auth.user", str(ann.pk)])).status_code == 404


def test_thread_page_shows_a_comment_and_what_hangs_below(client, post_page):
    top, other = one(post_page, "Top.", "a"), one(post_page, "Other.", "b")
    child = one(post_page, "Child.", "c", parent=top.slug)
    html = client.get(change_url("thread", top)).content.decode()
    assert "Top." in html
    assert child.part in html
    assert other.part not in html


def test_feed_is_atom_without_addresses(client, post_page):
    site.post(client, post_page, "In the feed", email="ann@example.org")
    response = client.get(reverse("comments-feed", args=[post_page.label, post_page.pk]))
    feed = response.content.decode()
    assert response["Content-Type"].startswith("application/atom+xml")
    assert "In the feed" in feed
    assert "example.org" not in feed


def test_my_comments_are_for_who_is_logged_in(client, post_page, ann):
    assert client.get(reverse("comments-mine")).status_code == 302
    client.force_login(ann)
    site.post(client, post_page, "By Ann")
    assert "By Ann" in client.get(reverse("comments-mine")).content.decode()


def test_page_for_all_carries_nothing_personal(client, post_page):
    before = client.get("/news/hello")
    assert not before.cookies
    assert "csrf" not in before.content.decode()
    site.post(client, post_page, "Mine", email="ann@example.org")
    mine, others = client.get("/news/hello").content, Client().get("/news/hello").content
    assert mine == others
    assert b"example.org" not in mine


def test_markdown_is_rendered_and_what_could_do_harm_is_cleaned(client, post_page):
    site.post(
        client, post_page, "*Yes*, see https://spam.example\n\n<script>alert(1)</script> [x](javascript:alert(2))"
    )
    html = client.get("/news/hello").content.decode()
    assert "<em>Yes</em>" in html
    assert 'rel="ugc nofollow noopener"' in html
    assert "<script>alert" not in html
    assert 'href="javascript:' not in html
