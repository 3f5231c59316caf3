"""The moderation queue: leases, decisions, and its pages in the admin."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from marginalia.comments import admin as comments_admin
from marginalia.comments import signals
from marginalia.comments.moderation import pending
from marginalia.comments.posting import flags, services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Target, Verdict
from marginalia.mongo.clock import now
from tests.support.comments import site

pytestmark = pytest.mark.usefixtures("mongo")
QUEUE = reverse("admin:marginalia_comments_moderation_changelist")
DECIDE = reverse("admin:marginalia_comments_moderation_decide")


def hold(target, n=1, start=0):
    return [
        services.hold(target, author=CommentAuthor(f"A{i}"), source=f"Held {i}", token=f"h{i}", reasons=["links"]).held
        for i in range(start, start + n)
    ]


@pytest.fixture
def staff(client, moderator) -> Client:
    client.force_login(moderator)
    return client


def queue(staff) -> str:
    """Return the page of held comments."""
    return staff.get(QUEUE).content.decode()


def test_moderators_never_get_the_same_comment(post_page):
    hold(post_page, 5)
    ann, bob = pending.lease("ann", 3), pending.lease("bob", 3)
    assert [len(ann), len(bob)] == [3, 2]
    assert not {held.id for held in ann} & {held.id for held in bob}
    assert pending.leased_by("ann", 3) == pending.lease("ann", 3) == ann


def test_concurrent_moderators_share_the_queue(post_page):
    hold(post_page, 40)
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda who: pending.lease(f"m{who}", 5), range(8)))
    ids = [held.id for batch in taken for held in batch]
    assert len(ids) == len(set(ids)) == 40


def test_lease_ends_by_time_or_release(post_page, mongo):
    hold(post_page, 2)
    pending.lease("ann", 2)
    assert pending.lease("bob", 2) == ()
    pending.release("ann")
    assert len(pending.lease("bob", 2)) == 2
    mongo["comments.pending"].update_many({}, {"$set": {"lease.until": now() - timedelta(seconds=1)}})
    assert len(pending.lease("ann", 2)) == 2


def test_concurrent_approvals_publish_a_comment_once(post_page):
    (held,) = hold(post_page)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda who: pending.decide("approve", [held.id], f"m{who}"), range(8)))
    assert [comment.source for comment in selectors.iterate(post_page)] == ["Held 0"]
    assert selectors.count(post_page) == 1


def test_approved_comment_is_shown_at_its_original_place(post_page):
    (held,) = hold(post_page)
    services.post(post_page, author=CommentAuthor("B"), source="Later", token="later")
    pending.decide("approve", [held.id], "ann")
    assert [comment.source for comment in selectors.iterate(post_page)] == ["Held 0", "Later"]
    assert selectors.get(post_page, held.slug).posted == held.posted


def test_failed_decision_does_not_stop_the_others(post_page):
    (held,) = hold(post_page)
    decided = pending.decide("reject", ["0" * 24, held.id], "ann")
    assert decided.done == (held.id,)
    assert [failed for failed, _ in decided.failed] == ["0" * 24]


def test_released_comments_can_be_taken_by_others(staff, post_page):
    first, *_others = hold(post_page, 3)
    assert 'value="release"' not in queue(staff)
    staff.post(DECIDE, {"action": f"spam:{first.id}", "state": "waiting"})
    assert 'value="release"' in queue(staff)
    assert pending.available_to("bob", 3) == pending.lease("bob", 3) == ()
    page = staff.post(DECIDE, {"action": "release", "state": "waiting"}, follow=True).content.decode()
    assert "2 comments were released." in page
    assert 'value="release"' not in queue(staff)
    assert len(pending.available_to("bob", 3)) == len(pending.lease("bob", 3)) == 2
    assert "Other moderators are reviewing all pending comments." in queue(staff)


def test_decision_on_a_busy_discussion_is_reported(post_page, mongo, monkeypatch):
    (held,) = hold(post_page)
    site.close_gate(mongo, post_page, monkeypatch)
    decided = pending.decide("approve", [held.id], "ann")
    assert decided.failed == (
        (held.id, "Many people are commenting right now. Your comment has not been saved yet. Please send it again."),
    )


def test_queue_page_shows_reason_context_and_parent(staff, post_page):
    parent = services.post(post_page, author=CommentAuthor("Bea"), source="What do you say?", token="p").comment
    services.hold(
        post_page,
        author=CommentAuthor("Ann", url="https://pills.example"),
        source="Buy [a](https://a.example) or [b](https://b.example)",
        token="h",
        parent=parent.slug,
        email="a@b.example",
        reasons=["links"],
    )
    html = queue(staff)
    for shown in (
        "What do you say?",
        "Buy",
        "Contains 2 links",
        "Guest, without an account",
        "a@b.example",
        "https://pills.example",
        'Ann on <a href="/news/hello">Hello</a>',
    ):
        assert shown in html


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    ("action", "verdict", "public"),
    [("approve", Verdict.APPROVED, 2), ("reject", Verdict.REJECTED, 0), ("spam", Verdict.SPAM, 0)],
)
def test_bulk_decision_and_undo(staff, post_page, action, verdict, public):
    ids = [held.id for held in hold(post_page, 2)]
    staff.post(DECIDE, {"action": action, "chosen": ids})
    assert {selectors.get_held(i).verdict for i in ids} == {verdict}
    assert selectors.get_held(ids[0]).decided_by
    assert selectors.count(post_page) == public
    for _again in range(2):
        assert 'value="wait"' in staff.get(QUEUE).content.decode(), "a page that is only looked at takes nothing away"
    staff.post(DECIDE, {"action": "wait", "chosen": ids})
    assert selectors.count(post_page) == 0
    assert 'value="wait"' not in staff.get(QUEUE).content.decode()


def test_last_decision_is_named_and_linked(staff, post_page):
    first, second, third = hold(post_page, 3)
    page = staff.post(DECIDE, {"action": f"spam:{first.id}"}, follow=True).content.decode()
    assert "1 comment was marked as spam." in page
    assert "View on page" not in page
    staff.post(DECIDE, {"action": f"approve:{second.id}"})
    place = [post_page.label, post_page.pk, second.slug]
    page = queue(staff)
    assert "1 comment was published." in page
    assert f'<a href="{reverse("comments-url-redirect", args=place)}">View on page</a>' in page
    response = staff.post(DECIDE, {"action": f"approve:{third.id}"})
    assert "#" in response["Location"]
    response = staff.post(DECIDE, {"action": f"reject:{third.id}"})
    assert "#" not in response["Location"], "the page shows the error at its top"


@pytest.mark.parametrize(
    ("verdict", "title"), [(Verdict.SPAM, "Comments marked as spam"), (Verdict.REJECTED, "Rejected comments")]
)
def test_decided_comments_are_returned_to_the_queue_together(staff, post_page, verdict, title):
    chosen = [held.id for held in hold(post_page, 2)]
    for held_id in chosen:
        pending.reject(held_id, verdict=verdict)
    page = staff.get(QUEUE, {"state": verdict.value}).content.decode()
    assert f"<h1>{title}</h1>" in page
    assert "Return selected to queue" in page
    assert "Mark selected as spam" not in page
    assert "?state=removed" in page
    data = {"action": "wait", "chosen": chosen, "state": verdict.value}
    page = staff.post(DECIDE, data, follow=True).content.decode()
    assert "2 comments were returned to the queue." in page
    assert len(selectors.held()) == 2


def test_undone_publication_is_not_repeated_by_an_old_page(staff, post_page):
    (held,) = hold(post_page)
    staff.post(DECIDE, {"action": "approve", "chosen": [held.id]})
    page = staff.post(DECIDE, {"action": "wait", "chosen": [held.id]}, follow=True).content.decode()
    assert f'<a href="{comment_url(held)}">View the comment</a>' in page
    decided = pending.decide("approve", [held.id], "ann")
    assert (decided.done, decided.failed) == ((), ((held.id, "This comment is no longer pending."),))
    assert selectors.count(post_page) == 0


def test_publication_by_another_moderator_is_not_undone(post_page):
    (held,) = hold(post_page)
    pending.decide("reject", [held.id], "ann")
    pending.decide("approve", [held.id], "bob")
    decided = pending.decide("wait", [held.id], "ann")
    assert (decided.done, decided.failed) == ((), ((held.id, "This comment is no longer pending."),))
    assert selectors.count(post_page) == 1


def test_undo_leaves_a_later_decision_of_another_moderator(staff, post_page):
    first, second = hold(post_page, 2)
    staff.post(DECIDE, {"action": "spam", "chosen": [first.id, second.id]})
    pending.decide("reject", [first.id], "bob")
    page = staff.post(DECIDE, {"action": "wait", "chosen": [first.id, second.id]}, follow=True).content.decode()
    assert "Another moderator has decided about this comment since." in page
    verdicts = [selectors.get_held(held.id).verdict for held in (first, second)]
    assert verdicts == [Verdict.REJECTED, Verdict.WAITING]
    # Moderators who see the other decision can still return the comment to the queue.
    staff.post(DECIDE, {"action": f"wait:{first.id}", "state": "rejected"})
    assert selectors.get_held(first.id).verdict is Verdict.WAITING


def test_decided_comments_are_listed_to_the_last_page(staff, post_page, monkeypatch):
    monkeypatch.setattr(comments_admin, "PAGE_SIZE", 2)
    spam = hold(post_page, 3)
    pending.decide("spam", [held.id for held in spam], "ann")
    first = staff.get(QUEUE, {"state": "spam"}).content.decode()
    assert f"after={spam[1].id}" in first
    assert spam[2].id not in first
    rest = staff.get(QUEUE, {"state": "spam", "after": spam[1].id}).content.decode()
    assert f"{spam[2].id}.1" in rest
    assert "after=" not in rest
    sent = {"action": f"reject:{spam[2].id}", "state": "spam", "after": spam[1].id}
    assert staff.post(DECIDE, sent)["Location"].endswith(f"?state=spam&after={spam[1].id}#queue")


def test_comment_edited_meanwhile_is_not_approved(staff, post_page):
    first, second = hold(post_page, 2)
    html = queue(staff)
    assert f'value="approve:{first.id}.1"' in html
    assert f'name="chosen" value="{second.id}.1"' in html
    services.change_held(first.id, source="Changed", rev=1)
    staff.post(DECIDE, {"action": "approve", "chosen": [f"{first.id}.1", f"{second.id}.1"]})
    assert [comment.source for comment in selectors.iterate(post_page)] == ["Held 1"]
    page = staff.get(QUEUE).content.decode()
    assert "The author has changed this comment" in page
    staff.post(DECIDE, {"action": f"approve:{first.id}.2"})
    assert selectors.count(post_page) == 2


def test_button_of_a_comment_ignores_the_selection(staff, post_page):
    first, second = hold(post_page, 2)
    staff.post(DECIDE, {"action": f"spam:{first.id}", "chosen": [second.id]})
    assert selectors.get_held(first.id).verdict is Verdict.SPAM
    assert selectors.get_held(second.id).verdict is Verdict.WAITING


def test_counts_stop_at_a_thousand_and_use_the_index(post_page, commands):
    hold(post_page, 3)
    with commands.recorded():
        assert pending.counts()["waiting"] == 3
    counted = [event.command for event in commands.sent if event.command_name == "aggregate"]
    assert all({"$limit": pending.MAX_COUNTED} in command["pipeline"] for command in counted)


@pytest.mark.parametrize("url", [QUEUE, reverse("admin:marginalia_comments_moderation_reported")])
def test_moderation_pages_are_only_for_moderators(client, post_page, ann, url):
    ann.is_staff = True
    ann.save()
    client.force_login(ann)
    assert client.get(url).status_code == 403


def test_get_request_decides_nothing(staff, post_page):
    (held,) = hold(post_page)
    assert staff.get(DECIDE, {"action": f"approve:{held.id}"}).status_code == 404
    assert selectors.count(post_page) == 0


def test_viewing_the_queue_leases_nothing(staff, post_page, commands):
    page = queue(staff)
    assert "No comments are pending." in page
    assert "Pending <b>0</b></a>" in page
    hold(post_page, 2)
    with commands.recorded():
        page = queue(staff)
    assert commands.written == set()
    assert ["Held 0" in page, "Held 1" in page] == [True, True]
    assert len(pending.lease("bob", 1)) == 1
    page = queue(staff)
    assert ["Held 0" in page, "Held 1" in page] == [False, True], "another moderator has taken the first"


def test_comment_rejected_by_another_is_not_approved(staff, post_page):
    first, second, third = hold(post_page, 3)
    pending.reject(first.id, by="bob", verdict=Verdict.SPAM)
    pending.approve(second.id, by="bob")
    chosen = [f"{held.id}.{held.rev}" for held in (first, second, third)]
    page = staff.post(DECIDE, {"action": "approve", "chosen": chosen, "state": "waiting"}, follow=True).content.decode()
    assert "This comment is no longer pending." in page
    assert [selectors.get_held(held.id).verdict for held in (first, second, third)] == [
        Verdict.SPAM,
        Verdict.APPROVED,
        Verdict.APPROVED,
    ]
    staff.post(DECIDE, {"action": f"approve:{first.id}.1", "state": "spam"})
    assert selectors.get_held(first.id).verdict is Verdict.APPROVED


def test_bulk_buttons_without_a_selection_ask_for_one(staff, post_page):
    (held,) = hold(post_page)
    sent = {"action": "approve", "state": "waiting"}
    assert "Select one or more comments first." in staff.post(DECIDE, sent, follow=True).content.decode()
    assert "Select one" not in staff.post(DECIDE, {**sent, "chosen": [held.id]}, follow=True).content.decode()
    assert selectors.count(post_page) == 1


def test_moderator_gets_more_comments_after_each_decision(staff, post_page, monkeypatch):
    monkeypatch.setattr("marginalia.comments.admin.PAGE_SIZE", 2)
    first, *_others = hold(post_page, 4)
    page = queue(staff)
    assert ["Held 0" in page, "Held 1" in page, "Held 2" in page] == [True, True, False]
    page = staff.post(DECIDE, {"action": f"spam:{first.id}", "state": "waiting"}, follow=True).content.decode()
    assert ["Held 0" in page, "Held 1" in page, "Held 2" in page, "Held 3" in page] == [False, True, True, False]


def comment_url(comment):
    return reverse(
        "admin:marginalia_comments_moderation_comment", args=[comment.target.label, comment.target.pk, comment.slug]
    )


def test_comment_is_edited_removed_and_restored_with_its_history(staff, post_page):
    comment = services.post(
        post_page, author=CommentAuthor("Ann"), source="First", token="a", email="ann@b.example"
    ).comment
    url = comment_url(comment)
    assert "ann@b.example" in staff.get(url).content.decode()
    staff.post(url, {"edit": "1", "text": "Second", "rev": 1, "nonce": "n"})
    assert selectors.get(post_page, comment.slug).source == "Second"
    assert "First" in staff.get(url).content.decode()
    staff.post(url, {"hide": "1", "rev": 2})
    assert selectors.get(post_page, comment.slug).removed
    staff.post(url, {"restore": "1", "rev": 3})
    assert selectors.get(post_page, comment.slug).source == "Second"
    changes = [(row["change"], str(row["account"])) for row in staff.get(url).context["history"]]
    name = str(User.objects.get())
    assert changes == [("Restored", name), ("Hidden or deleted", name), ("Edited", name)]


def test_history_names_a_moderator_without_an_account_by_key(staff, post_page):
    comment = services.post(post_page, author=CommentAuthor("Ann"), source="First", token="a").comment
    services.remove(comment.target, comment.slug, by="embed:7")
    history = staff.get(comment_url(comment)).context["history"]
    assert [(row["change"], row["account"]) for row in history] == [("Hidden or deleted", "embed:7")]


def test_filter_learns_from_a_comment_marked_as_spam_on_its_page(staff, post_page, mongo):
    comment = services.post(post_page, author=CommentAuthor("Ann"), source="Casino", token="a").comment
    assert 'name="spam"' in staff.get(comment_url(comment)).content.decode()
    staff.post(comment_url(comment), {"spam": "1", "rev": comment.rev})
    assert selectors.get(post_page, comment.slug).removed
    site.work()
    assert mongo["comments.lessons"].count_documents({"kind": "spam"}) == 1


def test_stale_edit_by_a_moderator_keeps_the_text(staff, post_page):
    comment = services.post(post_page, author=CommentAuthor("Ann"), source="First", token="a").comment
    services.edit(post_page, comment.slug, source="Theirs", rev=1, token="t")
    response = staff.post(comment_url(comment), {"edit": "1", "text": "Mine", "rev": 1, "nonce": "n"})
    html = response.content.decode()
    assert "Mine" in html
    assert "has changed since" in html
    assert selectors.get(post_page, comment.slug).source == "Theirs"


def test_flagged_comment_is_listed_until_settled(staff, post_page):
    comment = services.post(post_page, author=CommentAuthor("Ann"), source="Rude words", token="a").comment
    flags.flag(comment, "ip_hash:x")
    page = reverse("admin:marginalia_comments_moderation_reported")
    assert "Rude words" in staff.get(page).content.decode()
    assert "1 reader has reported this comment." in staff.get(comment_url(comment)).content.decode()
    html = staff.post(comment_url(comment), {"settle": "1"}, follow=True).content.decode()
    assert "The reports were dismissed." in html
    assert 'name="settle"' not in html
    assert "reported this comment" not in html
    assert reverse("comments-manage", args=[post_page.label, post_page.pk]) in html
    html = staff.get(page).content.decode()
    assert "Rude words" not in html
    assert "No comments are reported." in html


def test_flags_of_deleted_comments_are_deleted(staff, post_page, commands):
    comment = services.post(post_page, author=CommentAuthor("Ann"), source="Rude words", token="a").comment
    flags.flag(comment, "ip_hash:x")
    flags.flag(replace(comment, slug="gone"), "ip_hash:x")
    removed = services.post(post_page, author=CommentAuthor("Ann"), source="My own", token="b").comment
    flags.flag(removed, "ip_hash:x")
    services.remove(post_page, removed.slug)
    page = reverse("admin:marginalia_comments_moderation_reported")
    with commands.recorded():
        assert "2 reported comments no longer exist." in staff.get(page).content.decode()
    assert commands.written == set()
    assert "gone" not in staff.post(page, follow=True).content.decode()
    assert [flag.slug for flag in flags.list_flagged()] == [comment.slug]


@pytest.mark.parametrize("decision", ["spam", "reject", "hide"])
def test_emailed_link_does_not_undo_another_decision(staff, post_page, decision):
    (held,) = hold(post_page)
    url = reverse("comments-approve", args=[held.id])
    assert "Publish this comment?" in staff.get(url).content.decode()
    if decision == "hide":
        services.remove(post_page, pending.approve(held.id, by="bob").slug, by="bob")
    else:
        pending.decide(decision, [held.id], "bob")
    with site.received(signals.comment_was_flagged) as flagged:
        assert staff.post(url, {"rev": held.rev}).status_code == 404
    assert (flagged, selectors.count(post_page)) == ([], 0)
    assert selectors.get_held(held.id).decided_by == "bob"


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("rev", ["9" * 30, "9" * 5_000, "٣", "-1", ""])
def test_invalid_revision_causes_no_error(staff, post_page, rev):
    (held,) = hold(post_page)
    comment = services.post(post_page, author=CommentAuthor("Ann"), source="Words", token="a").comment
    for path, sent in (
        (comment_url(comment), {"hide": "1", "rev": rev}),
        (reverse("comments-approve", args=[held.id]), {"rev": rev}),
        (DECIDE, {"action": f"approve:{held.id}.{rev}"}),
    ):
        assert staff.post(path, sent).status_code in (200, 302, 403)


def test_rejected_comments_leave_no_gap(mongo, rules):
    target = Target("nodes.node", "0" * 24)
    for i in range(3):
        services.post(target, author=CommentAuthor("A"), source=f"Good {i}", token=f"g{i}")
        hold(target, 20, start=i * 20)
    for held in selectors.held(limit=1000):
        pending.reject(held.id)
    services.post(target, author=CommentAuthor("A"), source="Good 3", token="g3")
    assert [comment.number for comment in selectors.iterate(target)] == [1, 2, 3, 4]
