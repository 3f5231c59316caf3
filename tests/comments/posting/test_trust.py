"""Writers are trusted after a number of public comments, and lose the trust with spam."""

import pytest
from django.test import Client

from marginalia.comments.moderation import pending
from marginalia.comments.notices import reasons
from marginalia.comments.reading import selectors
from marginalia.comments.types import Verdict
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
