"""Names and texts with control characters, which no page, feed or email may contain."""

import json
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from marginalia.comments.errors import InvalidComment
from marginalia.comments.operations import importing, transfer
from marginalia.comments.posting import forms, services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, NewComment
from tests.support.comments import site

pytestmark = pytest.mark.usefixtures("mongo")

ATOM = "{http://www.w3.org/2005/Atom}"
# A backspace, an escape, a C1 control, a bidirectional override and isolate, line ends.
MESSY = "\x1bBob\x08 \x9b\u202eEvil\u2066\r\n\tJr."
CLEAN = "Bob Evil Jr."


def feed_of(client, target):
    """Return a discussion's feed, parsed as strictly as feed readers do."""
    response = client.get(reverse("comments-feed", args=[target.label, target.pk]))
    assert response.status_code == 200
    return ElementTree.fromstring(response.content)


@pytest.mark.parametrize("nothing", ["\u200b", "\u3164", "\u2800 \u2800", "\u00ad", "\u034f"])
def test_invisible_name_or_text_is_refused(client, post_page, nothing):
    for said in ({"name": nothing, "text": "Hello"}, {"name": "Bob", "text": nothing}):
        answer = site.post(client, post_page, **said)
        assert answer.status_code == 422
    assert selectors.count(post_page) == 0


@pytest.mark.parametrize("source", ["![]()", "[]()", "&#8203;", "> "])
def test_text_that_renders_to_nothing_is_refused(client, post_page, source):
    assert "Enter a comment." in site.post(client, post_page, source).content.decode()
    assert selectors.count(post_page) == 0


def test_edit_to_nothing_is_refused(post_page):
    posted = services.post(post_page, author=CommentAuthor("Bob"), source="Hello", token="t").comment
    with pytest.raises(InvalidComment):
        services.edit(post_page, posted.slug, source="![]()", rev=posted.rev, token="u")


@pytest.mark.parametrize(
    "welcome", ["👩\u200d👩\u200d👧", "می\u200cخواهم", "🏴\U000e0067\U000e0062\U000e0065\U000e007f", "🇧🇷"]
)
def test_zero_width_joiners_are_accepted(client, post_page, welcome):
    site.post(client, post_page, welcome, name=welcome)
    (comment,) = selectors.iterate(post_page)
    assert (comment.author.name, comment.source) == (welcome, welcome)


@pytest.mark.parametrize("more", [{}, {"preview": "1"}])
def test_name_loses_control_characters(client, post_page, more):
    shown = site.post(client, post_page, "Hello", name=MESSY, **more)
    if more:
        assert f'<b dir="auto">{CLEAN}</b>' in shown.content.decode()
    else:
        assert next(iter(selectors.iterate(post_page))).author.name == CLEAN


def test_name_of_only_control_characters_is_refused(client, post_page):
    refused = site.post(client, post_page, "My text", name="\x08\u202e")
    assert refused.status_code == 422
    assert "Enter your name." in refused.content.decode()
    assert site.fields_of(refused.content.decode())["text"] == "My text"


def test_services_clean_names_of_imports_and_held_comments(post_page):
    author = CommentAuthor(MESSY, url="https://bob.example/\u202e\x08me")
    posted = services.post(post_page, author=author, source="1", token="1").comment
    held = services.hold(post_page, author=author, source="2", token="2").held
    new = NewComment(author=author, source="3", html="<p>3</p>", token="3", email="bob@example.org\r\nBcc: x")
    importing.import_(post_page, [new])
    imported = list(selectors.iterate(post_page))[-1]
    waits = importing.hold_imported(post_page, NewComment(author=author, source="4", html="4", token="4")).held
    for one in (posted, held, imported, waits):
        assert (one.author.name, one.author.url) == (CLEAN, "https://bob.example/me")
    assert selectors.email_of(imported) == "bob@example.org bcc: x"


def test_import_cleans_names_and_refuses_broken_unicode(post_page):
    row = {
        "comment": "a" * 16,
        "answers": "",
        "posted": "2020-01-01T00:00:00+00:00",
        "edited": None,
        "kind": "comment",
        "state": "public",
        "name": MESSY,
        "user": None,
        "url": "",
        "email": "",
        "text": "Hello",
    }
    head = json.dumps({"discussion": str(post_page), "open": True}).encode()
    assert transfer.import_([head, json.dumps(row).encode()]).new == 1
    assert next(iter(selectors.iterate(post_page))).author.name == CLEAN
    with pytest.raises(transfer.BrokenFile, match="line 2: InvalidComment"):
        transfer.import_([head, json.dumps(row | {"comment": "b" * 16, "text": "half \ud83d"}).encode()])


def test_text_that_cannot_be_encoded_is_refused(post_page):
    with pytest.raises(InvalidComment):
        services.post(post_page, author=CommentAuthor("Bob"), source="half \ud83d", token="1")


def test_account_name_is_shown_without_control_characters():
    assert forms.display_name(User(username="bob", first_name="\x08Bob\u202e", last_name="Evil\u2069")) == "Bob Evil"
    assert forms.display_name(User(username="bob@example.org", first_name="\x08\u202e")) == "bob"


def test_feed_is_valid_for_any_typed_text(client, post_page):
    site.post(client, post_page, "A\x08B \u202eC\x1b", name=MESSY)
    entry = feed_of(client, post_page).find(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}author/{ATOM}name") == CLEAN
    assert entry.findtext(f"{ATOM}title") == f"Comment by {CLEAN}"
    assert entry.findtext(f"{ATOM}summary") == "<p>AB C</p>"


def test_feed_is_valid_for_comments_stored_uncleaned(client, post_page, mongo):
    site.post_directly(post_page)
    stored = {"author.name": "Bob\x08\uffff\u202e", "html": "<p>A\x0bB\ufffe</p>"}
    mongo["comments"].update_many({"discussion_id": post_page.id}, {"$set": stored})
    mongo["comment_pages"].update_many({}, {"$set": {f"comments.$[].{name}": text for name, text in stored.items()}})
    mongo["cms.nodes"].update_many({}, {"$set": {"metadata.title": "Hello\x08 \u202eall"}})
    feed = feed_of(client, post_page)
    assert feed.findtext(f"{ATOM}title") == "Comments on “Hello all”"
    assert feed.findtext(f"{ATOM}entry/{ATOM}author/{ATOM}name") == "Bob"
    assert feed.findtext(f"{ATOM}entry/{ATOM}summary") == "<p>AB</p>"
