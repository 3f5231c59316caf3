"""Writers are trusted after a number of public comments, and lose the trust with spam."""

from dataclasses import asdict

import pytest
from django.core import signing
from django.test import Client

from marginalia.comments.moderation import actions, bans, batches, pending
from marginalia.comments.notices import reasons
from marginalia.comments.posting import services, tokens
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import selectors
from marginalia.comments.types import Selection, Verdict
from tests.support.comments import site


@pytest.fixture(params=["guest", "account"])
def writer(request, ann, client) -> Client:
    if request.param == "account":
        client.force_login(ann)
    return client


@pytest.fixture(autouse=True)
def two_needed(rules):
    rules(MODE="hold-first", TRUST_AFTER=2)


def post(client, target, text):
    """Post a comment, and return its queue entry, or None if it is public."""
    site.post(client, target, text)
    return next((held for held in selectors.held() if held.source == text), None)


def approve(held):
    pending.approve(held.id, by="1")


def test_comments_wait_until_enough_are_public(writer, post_page):
    first = post(writer, post_page, "One")
    assert reasons.sentences(first) == ["This author has 0 of 2 public comments needed"]
    approve(first)
    second = post(writer, post_page, "Two")
    assert reasons.sentences(second) == ["This author has 1 of 2 public comments needed"]
    approve(second)
    assert post(writer, post_page, "Three") is None


def test_spam_takes_the_trust_away(writer, post_page, rules):
    for text in ("One", "Two"):
        approve(post(writer, post_page, text))
    rules(MODE="hold-all", TRUST_AFTER=2)
    pending.reject(post(writer, post_page, "Buy").id, by="1", verdict=Verdict.SPAM)
    rules(MODE="hold-first", TRUST_AFTER=2)
    held = post(writer, post_page, "Again")
    assert reasons.sentences(held) == ["An earlier comment by this author was spam"]


@pytest.fixture
def chief(rf, moderator) -> Sender:
    request = rf.get("/")
    request.user = moderator
    return Sender(request, ())


def mark_on_page(chief, target, slug):
    actions.mark_spam(chief, target, slug)


def mark_all(chief, target, slug):
    batches.hide(chief, Selection(comments=((target.id, slug),)))


def ban_words(chief, target, slug):
    term = bans.parse("words", "buy")
    bans.ban(chief, term)
    batches.hide(chief, batches.of_term(term))


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("mark", [mark_on_page, mark_all, ban_words])
@pytest.mark.parametrize("layout", ["documents", "embedded", "buckets"])
def test_published_spam_takes_the_trust_away_until_it_is_restored(writer, post_page, chief, rules, mark, layout):
    rules(DEFAULT={"LAYOUT": layout})
    for text in ("One", "Two"):
        approve(post(writer, post_page, text))
    assert post(writer, post_page, "Buy") is None
    spam = next(comment for comment in selectors.iterate(post_page) if comment.source == "Buy")
    mark(chief, spam.target, spam.slug)
    held = post(writer, post_page, "Again")
    assert reasons.sentences(held) == ["An earlier comment by this author was spam"]
    services.restore(spam.target, spam.slug)
    assert post(writer, post_page, "Once more") is None


@pytest.mark.slow_after(1)
def test_rejected_comment_does_not_take_the_trust_away(writer, post_page, chief):
    for text in ("One", "Two"):
        approve(post(writer, post_page, text))
    post(writer, post_page, "Off topic")
    comment = list(selectors.iterate(post_page))[-1]
    batches.hide(chief, Selection(comments=((post_page.id, comment.slug),)), verdict=Verdict.REJECTED)
    assert post(writer, post_page, "Again") is None


def test_copies_of_a_cookie_share_the_spam(post_page, client, chief):
    for text in ("One", "Two"):
        approve(post(client, post_page, text))
    copies = [Client(REMOTE_ADDR=f"198.51.{n}.1") for n in range(3)]
    for copy in copies:
        copy.cookies.load(client.cookies.output(header=""))
    assert post(copies[0], post_page, "Buy") is None
    spam = list(selectors.iterate(post_page))[-1]
    actions.mark_spam(chief, post_page, spam.slug)
    for number, copy in enumerate((client, *copies)):
        assert post(copy, post_page, f"Another {number}") is not None


def test_forged_cookies_give_no_trust(post_page, client):
    for text in ("One", "Two"):
        approve(post(client, post_page, text))
    real = client.cookies[tokens.OWN_COOKIE].value
    entry = asdict(tokens.read_sent(real)[0])
    forged = (
        real[:-1],
        real[::-1],
        real.replace(":", "."),
        signing.dumps([entry], salt=tokens.FORM_SALT),
        signing.dumps([entry], key="another key", salt=tokens.OWN_SALT),
        signing.dumps({"discussion": entry}, salt=tokens.OWN_SALT),
        signing.dumps([{**entry, "more": 1}], salt=tokens.OWN_SALT),
        "x" * 10_000_000,
        "." * 10_000,
    )
    for number, cookie in enumerate(forged):
        browser = Client()
        browser.cookies[tokens.OWN_COOKIE] = cookie
        assert post(browser, post_page, f"Forged {number}") is not None


def test_other_browsers_are_not_trusted(writer, post_page):
    for text in ("One", "Two"):
        approve(post(writer, post_page, text))
    assert post(Client(), post_page, "Somebody else") is not None


def test_without_a_number_everybody_is_trusted(post_page, client, rules):
    rules(MODE="hold-first", TRUST_AFTER=0)
    assert post(client, post_page, "One") is None


def test_model_has_its_own_policy(post_page, client, rules, settings):
    entry = settings.COMMENTS.get("TARGETS", {}).get(post_page.label, {})
    rules(
        POLICY="marginalia.comments.posting.policy.stock",
        MODE="hold-all",
        TARGETS={post_page.label: {**entry, "MODE": "open"}},
    )
    assert post(client, post_page, "One") is None
    rules(
        POLICY="marginalia.comments.posting.policy.stock",
        MODE="hold-first",
        TRUST_AFTER=5,
        TARGETS={post_page.label: {**entry, "TRUST_AFTER": 1}},
    )
    assert post(client, post_page, "Two") is None
