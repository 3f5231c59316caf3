"""Moderators restrict a discussion, lock threads and pin comments, from the page itself."""

from datetime import timedelta

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from marginalia.comments.moderation import actions
from marginalia.comments.notices import reasons
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Restrictions
from marginalia.mongo.clock import now
from tests.support.comments import site

MINUTES_OF_A_DAY = 24 * 60


@pytest.fixture
def moderator(mongo) -> Client:
    user = User.objects.create_user("mod", "mod@example.org", "secret", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="can_moderate"))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def comment(post_page):
    return services.post(post_page, author=CommentAuthor("Bea"), source="First", token="t" * 16).comment


def shown(client, target) -> str:
    return client.get(reverse("comments-discussion", args=[target.label, target.pk])).content.decode()


def change(target, **changes):
    services.restrict(target, **changes)


def send(client, target, text, parent=""):
    """Send a comment with the form, and return the response."""
    return site.post(client, target, text, parent=parent) if parent else site.post(client, target, text)


def form_fields(html: str) -> dict[str, str]:
    """Return the fields that a browser would send with the form of a discussion's restrictions."""
    form = BeautifulSoup(html, "html.parser").find("form", class_="comment-form")
    inputs = [field for field in form("input") if field.get("type") != "checkbox" or field.has_attr("checked")]
    chosen = {select["name"]: select.find("option", selected=True)["value"] for select in form("select")}
    return {
        field["name"]: field.get("value", "on" if field.get("type") == "checkbox" else "") for field in inputs
    } | chosen


def sources(target):
    return [comment.source for comment in selectors.iterate(target)]


def test_slow_discussion_accepts_one_comment_per_writer(post_page, client, rules):
    rules(MODE="open")
    change(post_page, slow_seconds=300)
    assert "You can write one comment every 5 minutes." in shown(client, post_page)
    send(client, post_page, "One")
    response = send(client, post_page, "Two")
    assert (response.status_code, sources(post_page)) == (422, ["One"])
    content = response.content.decode()
    assert "You can write one comment every 5 minutes." in content
    assert "Two" in content


def test_refused_comment_does_not_count_as_slow(post_page, client, rules):
    rules(MODE="open", WORDS=["casino"], MAX_LENGTH=10)
    change(post_page, slow_seconds=300)
    assert send(client, post_page, "x" * 50).status_code == 422
    send(client, post_page, "One")
    assert sources(post_page) == ["One"]


def test_refused_comment_costs_no_command_for_a_slow_discussion_elsewhere(post_page, client, rules, commands):
    rules(MODE="open", MAX_LENGTH=10)
    with commands.recorded():
        assert send(client, post_page, "x" * 50).status_code == 422
    assert "comments.slow" not in str([event.command for event in commands.sent])


def test_every_comment_waits_until_a_time(post_page, client, rules):
    rules(MODE="open")
    change(post_page, hold_until=now() + timedelta(hours=1))
    assert "comments appear after a moderator has approved them" in shown(client, post_page)
    send(client, post_page, "One")
    (held,) = selectors.held()
    assert reasons.sentences(held) == ["All comments in this discussion currently need approval"]
    change(post_page, hold_until=now() - timedelta(seconds=1))
    send(client, post_page, "Two")
    assert sources(post_page) == ["Two"]


def test_edit_is_refused_while_every_comment_waits(post_page, client, rules):
    rules(MODE="open")
    send(client, post_page, "One")
    (comment,) = selectors.iterate(post_page)
    url = site.change_url("edit", comment)
    edit = {**site.fields_of(client.get(url).content.decode()), "text": "Something else"}
    change(post_page, hold_until=now() + timedelta(hours=1))
    response = client.post(url, edit)
    assert (response.status_code, sources(post_page)) == (422, ["One"])
    assert "Something else" in response.content.decode()
    change(post_page, hold_until=now() - timedelta(seconds=1))
    assert client.post(url, edit).status_code == 302
    assert sources(post_page) == ["Something else"]


def test_comments_are_accepted_only_in_the_hours(post_page, client, rules):
    rules(MODE="open")
    minute = 60 * now().hour + now().minute
    closed = ((minute + 60) % MINUTES_OF_A_DAY, (minute + 120) % MINUTES_OF_A_DAY)
    change(post_page, hours=closed)
    assert "You can write comments from" in shown(client, post_page)
    assert send(client, post_page, "One").status_code == 422
    change(post_page, hours=closed[::-1])
    send(client, post_page, "Two")
    assert sources(post_page) == ["Two"]


def test_locked_thread_accepts_no_replies_from_readers(post_page, client, comment, moderator, rules):
    rules(MODE="open")
    reply = services.post(
        post_page, author=CommentAuthor("Ann"), source="Reply", token="r" * 16, parent=comment.slug
    ).comment
    url = reverse("comments-moderate", args=[post_page.label, post_page.pk, comment.slug])
    assert "no one can reply" in moderator.get(f"{url}?do=lock").content.decode()
    moderator.post(f"{url}?do=lock")
    page = shown(client, post_page)
    assert "Thread locked" in page
    assert "data-comments-reply" not in page
    assert send(client, post_page, "Mine", parent=reply.slug).status_code == 422
    send(moderator, post_page, "Closing words", parent=reply.slug)
    assert sources(post_page) == ["First", "Reply", "Closing words"]
    moderator.post(f"{url}?do=unlock")
    assert "data-comments-reply" in shown(client, post_page)


def test_edit_form_names_the_author_of_another_comment(post_page, comment, moderator):
    site.post(moderator, post_page, "Mine")
    titles = {}
    for each in selectors.iterate(post_page):
        url = reverse("comments-edit", args=[post_page.label, post_page.pk, each.slug])
        titles[each.source] = BeautifulSoup(moderator.get(url).content, "html.parser").h1.get_text(strip=True)
    assert titles == {"First": "Edit the comment by Bea", "Mine": "Edit your comment"}


def test_pinned_comment_is_shown_above_the_others(post_page, client, comment, moderator):
    url = reverse("comments-moderate", args=[post_page.label, post_page.pk, comment.slug])
    moderator.post(f"{url}?do=pin")
    assert 'class="comments-pinned"' in shown(client, post_page)
    assert shown(client, post_page).count(f'id="c-{comment.part}"') == 1
    assert "?do=unpin" in shown(moderator, post_page)
    moderator.post(f"{url}?do=unpin")
    assert 'class="comments-pinned"' not in shown(client, post_page)
    assert "?do=unpin" not in shown(moderator, post_page)


def test_removed_comment_is_not_shown_as_pinned(post_page, client, comment, moderator):
    moderator.post(reverse("comments-moderate", args=[post_page.label, post_page.pk, comment.slug]) + "?do=pin")
    services.remove(post_page, comment.slug)
    assert 'class="comments-pinned"' not in shown(client, post_page)


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("do", ["hide", "spam"])
def test_hidden_comment_leaves_the_page_and_returns(post_page, client, comment, moderator, do, mongo):
    def learned() -> int:
        site.work()
        return mongo["comments.lessons"].count_documents({"kind": "spam"})

    url = reverse("comments-moderate", args=[post_page.label, post_page.pk, comment.slug])
    assert "First" in moderator.get(f"{url}?do={do}").content.decode()
    page = moderator.post(f"{url}?do={do}", {"rev": "1"}, follow=True).content.decode()
    assert "Hidden." in page
    assert f"{url}?do=restore" in page
    assert f'id="c-{comment.part}"' not in shown(client, post_page)
    assert f'id="c-{comment.part}"' not in shown(moderator, post_page)
    assert learned() == (do == "spam")
    assert "First" in moderator.get(f"{url}?do=restore").content.decode()
    moderator.post(f"{url}?do=restore", {"rev": "2"})
    assert "First" in shown(client, post_page)
    assert learned() == 0


def test_moderators_can_restore_a_removed_comment_with_replies(post_page, client, comment, moderator):
    author = CommentAuthor("Ann")
    services.post(post_page, author=author, source="Reply", token="r" * 16, parent=comment.slug)
    services.remove(post_page, comment.slug)
    assert "?do=restore" in shown(moderator, post_page)
    page = shown(client, post_page)
    assert "This comment was removed." in page
    assert "?do=restore" not in page


def test_comment_that_changed_meanwhile_is_not_hidden(post_page, comment, moderator):
    url = reverse("comments-moderate", args=[post_page.label, post_page.pk, comment.slug])
    services.edit(post_page, comment.slug, source="Changed", rev=1, token="e" * 16)
    assert moderator.post(f"{url}?do=hide", {"rev": "1"}).status_code == 409
    assert sources(post_page) == ["Changed"]


def test_readers_see_no_actions_of_moderators(post_page, client, comment, moderator):
    assert "Lock thread" in shown(moderator, post_page)
    assert "Manage discussion" in shown(moderator, post_page)
    page = shown(client, post_page)
    assert "Lock thread" not in page
    assert "Manage discussion" not in page
    assert "Report" in page


@pytest.mark.parametrize("do", ["hide", "spam", "restore", "lock", "unlock", "pin"])
def test_readers_cannot_moderate(post_page, client, comment, ann, do):
    url = reverse("comments-moderate", args=[post_page.label, post_page.pk, comment.slug])
    client.force_login(ann)
    assert client.post(f"{url}?do={do}", {"rev": "1"}).status_code in (302, 403)
    assert sources(post_page) == ["First"]
    assert selectors.discussion(post_page).restrictions == Restrictions()


def test_unknown_decision_is_not_found(post_page, comment, moderator):
    url = reverse("comments-moderate", args=[post_page.label, post_page.pk, comment.slug])
    assert moderator.get(f"{url}?do=explode").status_code == 404
    assert moderator.get(url).status_code == 404


class TestForm:
    """The page with the restrictions of a discussion."""

    @pytest.fixture
    def url(self, post_page):
        return reverse("comments-manage", args=[post_page.label, post_page.pk])

    @pytest.fixture
    def fields(self, moderator, url):
        return form_fields(moderator.get(url).content.decode())

    def test_restrictions_are_saved(self, moderator, url, fields, post_page):
        sent = fields | {"slow_seconds": "60", "opens": "22:00", "closes": "06:30", "hold_until": "2040-01-02T10:00"}
        assert moderator.post(url, sent | {"save": "1"}).status_code == 302
        restrictions = selectors.discussion(post_page).restrictions
        assert (restrictions.slow_seconds, restrictions.hours) == (60, (1320, 390))
        assert restrictions.hold_until.isoformat() == "2040-01-02T10:00:00+00:00"

    def test_discussion_is_closed_and_opened(self, moderator, url, fields, post_page):
        sent = {name: value for name, value in fields.items() if name != "is_open"}
        moderator.post(url, sent | {"save": "1"})
        assert not selectors.discussion(post_page).open
        fields = form_fields(moderator.get(url).content.decode())
        moderator.post(url, fields | {"is_open": "on", "save": "1"})
        assert selectors.discussion(post_page).open

    def test_change_of_another_moderator_is_kept(self, moderator, url, fields, post_page):
        change(post_page, slow_seconds=300)
        moderator.post(url, fields | {"opens": "08:00", "closes": "09:00", "save": "1"})
        restrictions = selectors.discussion(post_page).restrictions
        assert (restrictions.slow_seconds, restrictions.hours) == (300, (480, 540))

    def test_one_of_two_times_is_an_error(self, moderator, url, fields):
        response = moderator.post(url, fields | {"opens": "08:00", "save": "1"})
        assert response.status_code == 422
        assert "Enter both times, or neither." in response.content.decode()

    def test_time_at_the_end_of_the_calendar_is_an_error(self, moderator, url, fields, client):
        """The time can't be converted to other time zones, so readers would see an error instead of the page."""
        response = moderator.post(url, fields | {"hold_until": "9999-12-31T23:59", "save": "1"})
        assert response.status_code == 422
        assert "Choose an earlier time." in response.content.decode()

    def test_comments_are_unpinned_and_threads_unlocked(self, moderator, url, comment, post_page):
        change(post_page, pinned=comment.slug)
        services.lock_thread(post_page, comment.slug, locked=True)
        assert "First" in moderator.get(url).content.decode()
        moderator.post(url, {"unpin": "1"})
        moderator.post(url, {"unlock": comment.slug})
        assert selectors.discussion(post_page).restrictions == Restrictions()

    def test_readers_cannot_open_it(self, client, ann, url):
        client.force_login(ann)
        assert client.get(url).status_code in (302, 403)


def test_missing_comment_cannot_be_pinned(post_page, moderator, rf):
    user = User.objects.get(username="mod")
    request = rf.get("/")
    request.user = user
    with pytest.raises(Exception, match="missing"):
        actions.change_discussion(services.Sender(request, ()), post_page, pinned="missing")
