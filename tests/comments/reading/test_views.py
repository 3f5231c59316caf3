"""Reading comments over HTTP, as browsers without JavaScript do."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from marginalia.comments.posting import services
from marginalia.comments.reading import paging
from nodes.models import Node
from tests.support.comments import site
from tests.support.comments.site import change_url, post_directly

pytestmark = pytest.mark.usefixtures("mongo")


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("order", ["oldest", "newest", "threaded"])
def test_permalink_opens_the_page_with_the_comment(client, post_page, order):
    comments = [post_directly(post_page, f"Number {n}", f"t{n}") for n in range(120)]
    wanted = comments[70]
    url = reverse("comments-url-redirect", args=[post_page.label, post_page.pk, wanted.slug])
    response = client.get(url, {"order": order})
    address, anchor = response["Location"].split("#")
    html = client.get(address).content.decode()
    assert f'id="{anchor}"' in html
    assert "Number 70<" in html
    assert "Number 119<" not in html or "Number 0<" not in html


def test_every_url_of_a_reply_leads_to_it(client, post_page):
    first = post_directly(post_page, "First", "t1")
    reply = post_directly(post_page, "Reply", "t2", parent=first.slug)
    last = post_directly(post_page, "Last", "t3", parent=reply.slug)
    for comment in (first, reply, last):
        arguments = [post_page.label, post_page.pk, comment.slug]
        address, anchor = client.get(reverse("comments-url-redirect", args=arguments))["Location"].split("#")
        assert f'id="{anchor}"' in client.get(address).content.decode()
        assert "Last" in client.get(reverse("comments-thread", args=arguments)).content.decode()
        assert client.get(reverse("comments-flag", args=arguments)).status_code == 200


def test_permalink_of_a_removed_comment_explains_or_redirects(client, post_page):
    lone, parent = post_directly(post_page, "Lone", "a"), post_directly(post_page, "Parent", "b")
    child = post_directly(post_page, "Child", "c", parent=parent.slug)
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


@pytest.mark.slow
def test_pages_lead_through_the_whole_discussion(client, post_page):
    for n in range(120):
        post_directly(post_page, f"Number {n}.", f"t{n}")
    url, seen = "/news/hello", []
    for _ in range(5):
        html = client.get(url).content.decode()
        seen += re.findall(r"Number (\d+)\.", html)
        following = re.search(r'rel="next" href="([^"]*comments=[^"]*)#', html)
        if not following:
            break
        url = following[1]
    assert [int(n) for n in seen] == list(range(120))


def test_links_keep_the_address_of_the_page(client, rf, post_page, monkeypatch):
    assert paging.url_without_part(rf.get("/a%3Fb/%E9%97%AE?comments=newest")) == "/a%3Fb/%E9%97%AE"
    first, second = (post_directly(post_page, f"Number {n}", f"t{n}") for n in range(2))
    html = client.get("/news/hello", {"id": "5 6", "comments": "newest"}).content.decode()
    assert 'href="/news/hello?id=5+6&amp;comments=oldest#comments"' in html
    assert client.get(change_url("url-redirect", first))["Location"].startswith("/news/hello?comments=")
    monkeypatch.setattr(Node, "get_absolute_url", lambda node: "/item?id=5")
    assert client.get(change_url("url-redirect", second))["Location"].startswith("/item?id=5&comments=")


def test_comments_of_a_hidden_page_return_404(client, mongo, rules):
    target = site.entry(published=None)
    comment = post_directly(target)
    for name in ("form", "discussion", "feed"):
        assert client.get(reverse(f"comments-{name}", args=[target.label, target.pk])).status_code == 404
    for name in ("url-redirect", "thread", "flag", "delete", "edit"):
        assert client.get(reverse(f"comments-{name}", args=[target.label, target.pk, comment.slug])).status_code == 404


def test_users_and_sessions_are_no_targets(client, ann):
    assert client.get(reverse("comments-form", args=["auth.user", str(ann.pk)])).status_code == 404


def test_thread_page_shows_a_comment_and_its_replies(client, post_page):
    top, other = post_directly(post_page, "Top.", "a"), post_directly(post_page, "Other.", "b")
    child = post_directly(post_page, "Child.", "c", parent=top.slug)
    html = client.get(change_url("thread", top)).content.decode()
    assert "Top." in html
    assert child.part in html
    assert other.part not in html


def test_feed_is_atom_without_email_addresses(client, post_page):
    site.post(client, post_page, "In the feed", email="ann@example.org")
    response = client.get(reverse("comments-feed", args=[post_page.label, post_page.pk]))
    feed = response.content.decode()
    assert response["Content-Type"].startswith("application/atom+xml")
    assert "In the feed" in feed
    assert "example.org" not in feed


def test_my_comments_need_a_login(client, post_page, ann):
    assert client.get(reverse("comments-mine")).status_code == 302
    client.force_login(ann)
    site.post(client, post_page, "By Ann")
    assert "By Ann" in client.get(reverse("comments-mine")).content.decode()


def test_shared_page_contains_nothing_personal(client, post_page):
    before = client.get("/news/hello")
    assert not before.cookies
    assert "csrf" not in before.content.decode()
    site.post(client, post_page, "Mine", email="ann@example.org")
    mine, others = client.get("/news/hello").content, Client().get("/news/hello").content
    assert mine == others
    assert b"example.org" not in mine


def test_markdown_is_rendered_and_sanitized(client, post_page):
    site.post(
        client, post_page, "*Yes*, see https://spam.example\n\n<script>alert(1)</script> [x](javascript:alert(2))"
    )
    html = client.get("/news/hello").content.decode()
    assert "<em>Yes</em>" in html
    assert 'rel="ugc nofollow noopener"' in html
    assert "<script>alert" not in html
    assert 'href="javascript:' not in html
