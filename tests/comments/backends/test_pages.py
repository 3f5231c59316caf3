"""Pages are ranges of numbers in every layout, and comments below a thousand replies are reached like any other."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from django.template.loader import render_to_string
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marginalia.comments.backends.discussions import new_document
from marginalia.comments.backends.stored import BLANK, comment_document, content_document, read_place
from marginalia.comments.operations import importing
from marginalia.comments.reading import lists, paging, selectors
from marginalia.comments.types import Order, Verdict
from tests.support.comments import audit
from tests.support.comments.layouts import FORMS, configure, state
from tests.support.comments.making import new

SIZES = (10, 33, 50, 250)
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


def stored_discussion(backend, target, length, gaps, shared, seed):
    """Store a discussion with the numbers 1 … `length`.

    Some numbers have no comment, a removed one or several. Return the comments as (number, slug).
    """
    backend.delete_discussion(target)
    draw, documents = random.Random(seed), []
    for number in range(1, length + 1):
        copies = 0 if draw.random() < gaps else 1 + (draw.randint(1, 6) if draw.random() < shared else 0)
        for copy in range(copies):
            answered = draw.choice(documents[-5:]) if documents and draw.random() < 0.4 else None
            if answered and answered["slug"].count("/") > 5:
                answered = None
            one = new(f"{number} {copy}", answered["slug"] if answered else "")
            posted = BEGINNING + timedelta(seconds=number, milliseconds=copy)
            document = comment_document(content_document(one), importing.slug_of(one), number, posted, answered)
            documents.append({**document, **(BLANK if draw.random() < 0.1 else {})})
    public = sum(document["state"] == "public" for document in documents)
    discussion = new_document(target, "documents", Order.OLDEST, 100)
    backend.store.db.discussions.insert_one({**discussion, "count": public, "last_number": length})
    where = read_place(backend.store.discussions.find(target))
    if documents:
        backend.store.layouts.of(where).copy(where, documents)
    return [(document["number"], document["slug"]) for document in sorted(documents, key=audit.in_time)]


def pages(backend, target, order, size):
    """Return {number: slugs} of all pages."""
    count = backend.page(target, order=order, size=size).pages
    found = {}
    for number in range(1, count + 1):
        page = backend.page(target, order=order, size=size, number=number)
        assert (page.fell_back, page.pages) == (False, count)
        found[page.number] = [comment.slug for comment in page.comments]
    return {number: slugs for number, slugs in found.items() if slugs}


def expected_pages(comments, size):
    found = {}
    for number, slug in comments:
        found.setdefault((number - 1) // size + 1, []).append(slug)
    return found


def same_pages(backend, target, length, gaps, shared, seed):
    comments = stored_discussion(backend, target, length, gaps, shared, seed)
    backend.repair(target, list(backend.audit(target)))  # writes the catalogue
    for form in FORMS:
        backend.convert(target, *form)
        audit.stored(target, "auth_user")
        for size in SIZES:
            expected = expected_pages(comments, size)
            assert pages(backend, target, Order.OLDEST, size) == expected
            backwards = {number: slugs[::-1] for number, slugs in expected.items()}
            assert pages(backend, target, Order.NEWEST, size) == backwards


def configured(settings):
    """Configure every layout so that it accepts these comments and shows them in any order."""
    backend = configure(settings, "embedded", BOUND=10_000, BOUND_BYTES=10_000_000)
    settings.COMMENTS = {**settings.COMMENTS, "DEFAULT": {"LAYOUT": "buckets", "OPTIONS": {"CAP": 10_000}}}
    return backend


@pytest.mark.slow
def test_pages_are_the_same_in_every_layout(mongo, settings, target):
    same_pages(configured(settings), target, 260, gaps=0.4, shared=0.1, seed=7)


@pytest.mark.slow
def test_pages_are_the_same_in_every_layout_for_random_gaps(mongo, settings, target):
    backend = configured(settings)

    @settings_of_hypothesis
    @given(st.integers(0, 700), st.sampled_from([0, 0.1, 0.5, 0.98]), st.sampled_from([0, 0.1, 0.5]), st.integers())
    def play(length, gaps, shared, seed):
        same_pages(backend, target, length, gaps, shared, seed)

    play()


settings_of_hypothesis = settings(
    max_examples=12, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.slow
def test_two_thousand_held_spam_comments_change_no_page(mongo, settings, target):
    """A hundred comments have the same pages with and without held ones between them."""
    backend = configure(settings, "documents")
    for n in range(100):
        for m in range(20):
            spam = backend.hold(target, new(f"spam {n} {m}")).held
            if m:
                backend.reject(spam.id, verdict=Verdict.SPAM if m % 2 else Verdict.REJECTED)
        backend.post(target, new(f"good {n}"))
    assert len(backend.held(limit=1_000)) == 100
    configured(settings)
    for form in FORMS:
        backend.convert(target, *form)
        good = list(backend.iterate(target))
        assert [(c.number, c.source) for c in good] == [(n + 1, f"good {n}") for n in range(100)]
        for size in SIZES:
            alone = expected_pages([(c.number, c.slug) for c in good], size)
            assert pages(backend, target, Order.OLDEST, size) == alone


@pytest.mark.slow
def test_chain_of_1000_replies_works_everywhere(mongo, settings, target):
    backend = configured(settings)
    chain = [backend.post(target, new("0 $$ROOT")).comment]
    for n in range(1, 1_000):
        chain.append(backend.post(target, new(f"{n} $$ROOT", chain[-1].slug)).comment)
    assert [c.answers for c in chain[1:]] == [c.slug for c in chain[:-1]]
    assert max(c.depth for c in chain) == 7
    expected = state(backend, target)[:3]
    assert (expected[0], expected[2]) == (chain, 1_000)
    for form in FORMS:
        backend.convert(target, *form)
        assert state(backend, target)[:3] == expected
        audit.stored(target, "auth_user")
        for comment in (chain[0], chain[500], chain[999]):
            for order in Order:
                page = backend.page(target, order=order, size=33, at=comment.slug)
                assert comment in page.comments
        assert len(backend.subdiscussion(target, chain[0].slug, size=2_000).comments) == 1_000
        below = backend.subdiscussion(target, chain[3].slug, size=2_000).comments
        assert [c.source for c in below] == [c.source for c in expected[1] if c.slug.startswith(chain[3].slug)]
        wanted = paging.PageRequest(order="threaded", at=chain[999].slug)
        shown = lists.list_context(
            lists.Subject(target), selectors.requested_page(target, wanted), slug=wanted.at, url="/"
        )
        html = render_to_string("comments/list.html", shown)
        assert f'id="c-{chain[999].part}"' in html
        assert html.count('<li class="comment ') == len(shown["comments"])
    last = backend.post(target, new("one more", chain[-1].slug)).comment
    assert (last.answers, last.number) == (chain[-1].slug, 1_001)


@pytest.fixture
def profile(mongo):
    """Return what the server logs about every command, newest last."""
    mongo.command("profile", 2)
    yield lambda: list(mongo["system.profile"].find({"ns": f"{mongo.name}.comments", "op": "query"}))
    mongo.command("profile", 0)
    mongo["system.profile"].drop()


def test_long_pages_among_short_ones_keep_their_plan(mongo, settings, target, profile):
    """The server plans a query again if it takes ten times as long as the last one."""
    backend = configure(settings)
    stored_discussion(backend, target, length=60, gaps=0, shared=0, seed=1)
    for size in (50, 1, 50, 1, 50):
        for order in (Order.OLDEST, Order.THREADED):
            assert len(backend.page(target, order=order, size=size).comments) == size
        assert len(backend.page(target, order=Order.THREADED, size=size, before="~").comments) == size
    assert len(profile()) == 15
    assert [
        found["planSummary"] for found in profile() if found.get("fromMultiPlanner") or found.get("replanned")
    ] == []


def test_pages_are_shown_without_an_index(mongo, settings, target):
    backend = configure(settings)
    comments = stored_discussion(backend, target, length=12, gaps=0, shared=0, seed=1)
    kept = {name: mongo.comments.index_information()[name]["key"] for name in ("by_number", "by_full_slug")}
    try:
        for name in kept:
            mongo.comments.drop_index(name)
        for order in (Order.OLDEST, Order.THREADED):
            assert {c.slug for c in backend.page(target, order=order, size=50).comments} == {
                slug for _, slug in comments
            }
    finally:
        for name, key in kept.items():
            mongo.comments.create_index(key, name=name)
