"""Comments like another one, decisions about many comments, and the search, in the admin."""

import re
from datetime import timedelta

import pytest
from bson import ObjectId
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from cms.testing.build import node
from marginalia.comments.admin.batches import batch_url
from marginalia.comments.errors import SearchTimeout
from marginalia.comments.moderation import batches, pending, searches
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import BatchState, CommentAuthor, Target, Verdict
from marginalia.mongo.clock import now
from tests.support.comments import site

SEARCH = reverse("admin:marginalia_comments_moderation_search")
SPAM = "You can win one million dollars today if you only visit our shiny casino, number {}, right now"


@pytest.fixture
def staff(moderator) -> Client:
    browser = Client()
    browser.force_login(moderator)
    return browser


@pytest.fixture
def wave(post_page):
    """Similar comments, published and pending, and an honest one of each kind."""
    for n in range(4):
        services.post(post_page, author=CommentAuthor(f"A{n}"), source=SPAM.format(n), token=f"p{n}")
        services.hold(post_page, author=CommentAuthor(f"B{n}"), source=SPAM.format(n + 9), token=f"h{n}")
    services.post(post_page, author=CommentAuthor("Ann"), source="An honest answer", token="honest")
    services.hold(post_page, author=CommentAuthor("Bob"), source="An honest question", token="question")
    return post_page


def public(target) -> list[str]:
    return [comment.source for comment in selectors.iterate(target) if not comment.removed]


def alike_url(comment) -> str:
    place = [comment.target.label, comment.target.pk, comment.slug]
    return reverse("admin:marginalia_comments_moderation_alike", args=place)


def test_slow_search_says_so_and_offers_no_action(staff, wave, monkeypatch):
    assert staff.get(SEARCH, {"q": "casin*"}).content.count(b'name="chosen"') > 1
    monkeypatch.setattr(searches, "SECONDS", 0.000001)
    page = staff.get(SEARCH, {"q": "casin*"}).content.decode()
    assert escape(str(SearchTimeout.sentence)) in page
    assert "casin*" in page
    assert 'name="action"' not in page
    assert "No comments match" not in page


def test_all_like_a_pending_comment_are_decided_and_undone_at_once(staff, wave):
    held = selectors.held()[0]
    assert alike_url(held) in staff.get(reverse("admin:marginalia_comments_moderation_changelist")).content.decode()
    page = staff.get(alike_url(held)).content.decode()
    assert "Similar text" in page
    assert "Mark 8 comments as spam" in page
    page = staff.post(alike_url(held), {"by": "text", "verdict": "spam"}, follow=True).content.decode()
    assert "8 comments were marked as spam." in page
    assert public(wave) == ["An honest answer"]
    assert [h.source for h in selectors.held()] == ["An honest question"]
    assert len(selectors.held(verdict=Verdict.SPAM)) == 4
    assert "8 · Similar text" in staff.get(reverse("admin:marginalia_comments_moderation_batches")).content.decode()
    (batch,) = batches.find(limit=9)
    staff.post(reverse("admin:marginalia_comments_moderation_batch", args=[batch.id]))
    assert len(public(wave)) == 5
    assert len(selectors.held()) == 5
    assert selectors.count(wave) == 5


def test_hidden_comments_are_in_no_page_feed_or_search_of_readers(staff, wave):
    staff.post(alike_url(selectors.held()[0]), {"by": "text"})
    arguments = [wave.label, wave.pk]
    urls = [
        "/news/hello",
        "/search?q=hello",
        *(reverse(f"comments-{n}", args=arguments) for n in ("discussion", "feed")),
    ]
    for url in urls:
        assert "casino" not in Client().get(url).content.decode()
    api = Client().get(f"/api/v1/nodes/{wave.pk}/comments").json()
    assert [item["state"] for item in api["items"]].count("removed") == 4
    assert api["discussion"]["count"] == 1
    assert "casino" not in str(api)


def test_rest_of_a_large_decision_is_left_to_the_worker(staff, wave, monkeypatch):
    monkeypatch.setattr(batches, "SECONDS", 0)
    page = staff.post(alike_url(selectors.held()[0]), {"by": "text"}, follow=True).content.decode()
    assert "The rest follows in the background." in page
    assert len(public(wave)) == 5
    site.work()
    (batch,) = batches.find(limit=9)
    assert batch.state is BatchState.DONE
    assert public(wave) == ["An honest answer"]


def test_decision_of_a_dead_process_is_continued_by_the_worker(staff, wave, mongo, monkeypatch):
    monkeypatch.setattr(batches, "SECONDS", 0)
    staff.post(alike_url(selectors.held()[0]), {"by": "text"})
    mongo.jobs.delete_many({})
    mongo["comments.batches"].update_many({}, {"$set": {"lease.until": now() - timedelta(seconds=1)}})
    batches.resume()
    assert public(wave) == ["An honest answer"]


def test_unknown_likeness_is_refused(staff, wave):
    for by in ("", "text:", "name:ann", "link:"):
        assert staff.post(alike_url(selectors.held()[0]), {"by": by}).status_code == 404
    assert batches.find(limit=9) == []


def place(held) -> str:
    """Return the value that the search's form sends for a queued comment."""
    return f"{held.target} {held.slug} {held.id}.{held.rev}"


def found(staff, **query) -> list[str]:
    """Return the texts of the comments that a search finds."""
    page = staff.get(SEARCH, query)
    assert page.status_code == 200
    return [row["comment"].source for row in page.context["hits"]]


def test_search_by_text_writer_and_state(staff, wave):
    assert len(found(staff, q="shiny casino")) == 8
    assert len(found(staff, q="cas*", state="waiting")) == 4
    assert found(staff, q="HONEST") == ["An honest question", "An honest answer"]
    assert found(staff, q="casino", author="a2") == [SPAM.format(2)]
    assert found(staff, author="bob", state="public") == []
    first = list(selectors.iterate(wave))[0]
    services.remove(wave, first.slug)
    assert found(staff, q="casino", state="removed") == [SPAM.format(0)]
    pending.decide("spam", [selectors.held()[0].id], "1")
    assert found(staff, state="spam") == [SPAM.format(9)]


def test_search_for_a_banned_pattern_finds_only_its_comments(staff, wave):
    services.post(wave, author=CommentAuthor("Eve"), source="A shiny car", token="car")
    assert len(found(staff, term="words:shiny casi*")) == 8
    assert found(staff, term="words:shiny casi*", q="ca*") == found(staff, term="words:shiny casi*")


def test_search_by_time_link_and_section(staff, wave):
    today = now().date()
    assert len(found(staff, since=today.isoformat(), until=today.isoformat())) == 10
    assert found(staff, until=(today - timedelta(days=3)).isoformat()) == []
    other = node("basic-page", "other", title="Other")
    services.post(
        Target("nodes.node", str(other)), author=CommentAuthor("Eve"), source="See http://a.shop.example", token="e"
    )
    assert found(staff, link="shop.example") == ["See http://a.shop.example"]
    sections = dict(staff.get(SEARCH).context["form"].fields["section"].choices)
    (news,) = [key for key, title in sections.items() if title == "News" or title == "news"]
    assert len(found(staff, section=news)) == 10


def test_invalid_search_is_explained(staff, wave):
    for query in (
        {"link": "no domain"},
        {"network": "x"},
        {"since": "soon"},
        {"since": "0001-01-01"},
        {"until": "9999-12-31"},
        {"state": "x"},
        {"term": "x:y"},
        {"like": "x"},
    ):
        page = staff.get(SEARCH, query)
        assert page.context["hits"] == []
        assert page.context["form"].errors
        assert "Correct the search to see comments." in page.content.decode()


def test_selected_comments_are_hidden_and_restored(staff, wave):
    chosen = [f"{c.target} {c.slug}" for c in list(selectors.iterate(wave))[:2]]
    page = staff.post(SEARCH, {"action": "spam", "chosen": chosen}, follow=True).content.decode()
    assert "2 comments were marked as spam." in page
    assert selectors.count(wave) == 3
    staff.post(f"{SEARCH}?state=removed", {"action": "restore", "chosen": chosen})
    assert selectors.count(wave) == 5
    held = selectors.held()[0]
    staff.post(f"{SEARCH}?state=waiting", {"action": "approve", "chosen": [place(held)]})
    assert held.source in public(wave)
    page = staff.post(SEARCH, {"action": "spam"}, follow=True).content.decode()
    assert "Select one or more comments first." in page


def test_pending_comment_is_approved_in_its_row(staff, wave):
    held = selectors.held()[0]
    page = staff.get(SEARCH).content.decode()
    assert f'value="approve:{place(held)}"' in page
    assert page.count('value="approve:') == 5, "published comments have no such button"
    response = staff.post(f"{SEARCH}?q=casino", {"action": f"approve:{place(held)}"}, follow=True)
    assert response.request["QUERY_STRING"] == "q=casino"
    assert "1 comment was published." in response.content.decode()
    assert held.source in public(wave)


@pytest.mark.parametrize("by", ["author", "moderator"])
def test_search_approves_only_what_the_moderator_saw(staff, wave, by):
    held = selectors.held()[0]
    (value,) = re.findall(f'value="approve:([^"]* {held.slug} [^"]*)"', staff.get(SEARCH).content.decode())
    if by == "author":
        services.change_held(held.id, source="Something else", rev=held.rev)
    else:
        pending.reject(held.id, by="1", verdict=Verdict.SPAM)
    page = staff.post(SEARCH, {"action": f"approve:{value}"}, follow=True).content.decode()
    assert "published" not in page
    assert 'class="error"' in page
    assert selectors.count(wave) == 5
    assert selectors.get_held(held.id).verdict is (Verdict.WAITING if by == "author" else Verdict.SPAM)


@pytest.mark.parametrize("verdict", [Verdict.SPAM, Verdict.REJECTED])
def test_rejected_comments_are_approved_in_the_search(staff, wave, verdict):
    held = selectors.held()[0]
    pending.reject(held.id, by="1", verdict=verdict)
    (row,) = staff.get(SEARCH, {"state": verdict.value}).context["hits"]
    staff.post(f"{SEARCH}?state={verdict}", {"action": "approve", "chosen": [row["value"]]})
    assert held.source in public(wave)


def test_everything_found_is_hidden(staff, wave):
    page = staff.get(SEARCH, {"q": "casino"}).content.decode()
    assert "Mark all 8 comments found as spam" in page
    page = staff.post(f"{SEARCH}?q=casino", {"action": "all"}, follow=True).content.decode()
    assert "8 comments were marked as spam." in page
    assert public(wave) == ["An honest answer"]


def test_all_pending_comments_found_are_published(staff, wave):
    page = staff.get(SEARCH, {"q": "casino", "state": "waiting"}).content.decode()
    assert "Approve all 4 comments found" in page
    page = staff.post(f"{SEARCH}?q=casino&state=waiting", {"action": "all"}, follow=True).content.decode()
    assert "4 comments were published." in page
    assert (selectors.count(wave), [held.source for held in selectors.held()]) == (9, ["An honest question"])
    page = staff.post(batch_url(*batches.find(limit=9)), follow=True).content.decode()
    assert "Undone: 4 comments are hidden." in page
    assert selectors.count(wave) == 5


@pytest.mark.parametrize(
    ("action", "result"),
    [("spam", ("marked as spam", "Marked as spam")), ("rejected", ("hidden or rejected", "Hidden or rejected"))],
)
def test_decision_is_named_like_its_button(staff, wave, action, result):
    chosen = [f"{comment.target} {comment.slug}" for comment in list(selectors.iterate(wave))[:2]]
    page = staff.post(SEARCH, {"action": action, "chosen": chosen}, follow=True).content.decode()
    assert f"2 comments were {result[0]}." in page
    assert result[1] in staff.get(reverse("admin:marginalia_comments_moderation_batches")).content.decode()


def test_decision_is_undone_from_the_list(staff, wave):
    staff.post(f"{SEARCH}?q=casino", {"action": "all"})
    (batch,) = batches.find(limit=9)
    listing = reverse("admin:marginalia_comments_moderation_batches")
    assert f'action="{batch_url(batch)}"' in staff.get(listing).content.decode()
    staff.post(batch_url(batch))
    assert selectors.count(wave) == 5
    assert f'action="{batch_url(batch)}"' not in staff.get(listing).content.decode()


def test_search_by_model(staff, wave):
    photo = Target("nodes.photo", str(ObjectId()))
    services.post(photo, author=CommentAuthor("Eve"), source="A nice photo", token="e")
    assert len(found(staff, model="nodes.node")) == 10
    assert found(staff, model="nodes.photo") == ["A nice photo"]


def test_search_without_a_filter_never_hides_or_publishes_everything(staff, wave):
    staff.post(SEARCH, {"action": "all"})
    staff.post(f"{SEARCH}?state=waiting", {"action": "all"})
    assert len(selectors.held()) == 5
    assert len(public(wave)) == 5
    staff.post(f"{SEARCH}?q=%3F%21", {"action": "all"})
    assert len(public(wave)) == 5


def test_search_escapes_what_was_typed(staff, wave):
    typed = '"><script>alert(1)</script>'
    page = staff.get(SEARCH, {"q": typed}).content.decode()
    assert typed not in page
    assert escape(typed) in page


def test_older_comments_follow_on_the_next_page(staff, wave, monkeypatch):
    monkeypatch.setattr("marginalia.comments.admin.searching.PAGE_SIZE", 4)
    first = staff.get(SEARCH, {"q": "casino"})
    assert len(first.context["hits"]) == 4
    second = staff.get(f"{SEARCH}?{first.context['more']}")
    shown = [row["comment"].slug for page in (first, second) for row in page.context["hits"]]
    assert len(set(shown)) == 8
    assert second.context["more"] == ""
