"""The stored documents through the ORM and the admin: read-only."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.urls import reverse

from marginalia.comments.backends.mongodb import MongoBackend
from marginalia.comments.models import StoredBucket, StoredComment, StoredDiscussion
from marginalia.comments.operations import converting
from marginalia.comments.types import Order, Target
from marginalia.mongo.models import WrittenByServices
from marginalia.tasks import worker
from tests.support.commands import explain, stages
from tests.support.comments.layouts import configure, lively
from tests.support.comments.making import ANN, new

STORED = ("storeddiscussion", "storedcomment", "storedbucket")


@pytest.fixture
def operator(mongo, client):
    user = get_user_model().objects.create_user("op", password="secret", is_staff=True)
    codenames = ["can_moderate", *(f"view_{name}" for name in STORED)]
    user.user_permissions.add(*Permission.objects.filter(codename__in=codenames))
    client.force_login(user)
    return client


def test_orm_reads_what_the_back_end_wrote(mongo, settings, target):
    backend = configure(settings)
    lively(backend, target)
    row = StoredComment.objects.get(discussion_id=target.id, number=1)
    comment = next(iter(backend.iterate(target)))
    assert (row.slug, row.author.name, row.source, row.posted) == (
        comment.slug,
        comment.author.name,
        comment.source,
        comment.posted,
    )
    assert StoredDiscussion.objects.get(pk=target.id).count == backend.discussion(target).count
    backend.convert(target, "buckets", Order.OLDEST)
    assert sum(bucket.count for bucket in StoredBucket.objects.all()) == len(list(backend.iterate(target)))


def test_orm_writes_nothing(mongo, settings, target):
    configure(settings).post(target, new("one"))
    row = StoredComment.objects.get()
    for write in (row.save, row.delete, StoredComment.objects.all().delete, StoredComment.objects.create):
        with pytest.raises(WrittenByServices):
            write()
    with pytest.raises(WrittenByServices):
        StoredComment.objects.update(source="")


def test_comments_of_a_discussion_are_found_by_an_index(mongo, settings, target, commands):
    lively(configure(settings), target)
    with commands.recorded():
        assert StoredComment.objects.filter(discussion_id=target.id).order_by("-id")[:5]
    assert "COLLSCAN" not in stages(explain(mongo, commands.sent[0]))


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("name", STORED)
def test_admin_lists_search_and_filter(mongo, settings, target, operator, name):
    backend = configure(settings)
    lively(backend, target)
    backend.convert(target, "buckets", Order.OLDEST)
    url = reverse(f"admin:marginalia_comments_{name}_changelist")
    assert str(target) in operator.get(url).content.decode()
    assert str(target) in operator.get(url, {"q": str(target)}).content.decode()
    assert str(target) not in operator.get(url, {"q": "auth.user:nobody"}).content.decode().replace("nobody", "")
    assert "@example.org" not in operator.get(url).content.decode()


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("name", STORED)
def test_admin_lists_neither_count_nor_sort_collections(mongo, settings, target, operator, commands, name):
    backend = configure(settings)
    lively(backend, target)
    backend.convert(target, "buckets", Order.OLDEST)
    with commands.recorded():
        listed = operator.get(reverse(f"admin:marginalia_comments_{name}_changelist")).context["cl"]
    collection = listed.model._meta.db_table
    assert listed.result_count == len(listed.result_list) == mongo[collection].count_documents({}) > 0
    asked = [event for event in commands.sent if event.command.get(event.command_name) == collection]
    assert [event.command_name for event in asked] == ["count", "aggregate"]
    assert not {"SORT", "COLLSCAN"} & stages(explain(mongo, asked[1]))


def test_admin_list_links_the_discussed_page(mongo, operator, post_page):
    backend = MongoBackend()
    backend.post(post_page, new("one"))
    gone = Target("nodes.node", "0" * 24)
    backend.post(gone, new("two"))
    html = operator.get(reverse("admin:marginalia_comments_storeddiscussion_changelist")).content.decode()
    assert f"Hello<br><small>{post_page}" in html
    assert str(gone) in html


def test_admin_searches_comments_by_an_index(mongo, settings, target, operator, commands):
    lively(configure(settings), target)
    url = reverse("admin:marginalia_comments_storedcomment_changelist")
    for wanted in (str(target), ANN.id):
        with commands.recorded():
            assert operator.get(url, {"q": wanted}).context["cl"].result_count
        asked = [event for event in commands.sent if event.command.get(event.command_name) == "comments"]
        assert asked
        assert [event.command for event in asked if "COLLSCAN" in stages(explain(mongo, event))] == []
    assert not operator.get(url).context["cl"].has_filters, "no index serves one"


def test_admin_action_converts_a_discussion(mongo, settings, target, operator):
    backend = configure(settings)
    lively(backend, target)
    url = reverse("admin:marginalia_comments_storeddiscussion_changelist")
    answer = operator.post(url, {"action": "convert_to_buckets_threaded", "_selected_action": [target.id]})
    assert answer.status_code == 302
    found = backend.discussion(target)
    assert (found.layout, found.order) == ("buckets", Order.THREADED)


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(("codename", "layout"), [("can_moderate", "buckets"), ("view_storedcomment", "documents")])
def test_only_moderators_can_convert_discussions(mongo, settings, target, client, codename, layout):
    backend = configure(settings)
    lively(backend, target)
    user = get_user_model().objects.create_user("vera", password="secret", is_staff=True)
    user.user_permissions.add(*Permission.objects.filter(codename__in=["view_storeddiscussion", codename]))
    client.force_login(user)
    url = reverse("admin:marginalia_comments_storeddiscussion_changelist")
    page = client.get(url).content.decode()
    assert "delete_selected" not in page
    assert ("convert_to_buckets_threaded" in page) == (layout == "buckets")
    client.post(url, {"action": "convert_to_buckets_threaded", "_selected_action": [target.id]})
    assert backend.discussion(target).layout == layout


def test_long_conversion_is_left_to_the_worker(mongo, settings, target, operator, monkeypatch):
    backend = configure(settings)
    lively(backend, target)
    monkeypatch.setattr(converting, "MAX_IMMEDIATE", 3)
    url = reverse("admin:marginalia_comments_storeddiscussion_changelist")
    sent = {"action": "convert_to_buckets_threaded", "_selected_action": [target.id]}
    for _again in range(2):
        told = operator.post(url, sent, follow=True).content.decode()
        assert "1 discussion is long. Its conversion continues in the background" in told
    assert backend.discussion(target).layout == "documents"
    assert worker.work().name == "comments.convert"
    assert worker.work() is None
    found = backend.discussion(target)
    assert (found.layout, found.order) == ("buckets", Order.THREADED)


def test_admin_list_shows_the_progress_of_a_conversion(mongo, settings, target, operator):
    backend = configure(settings)
    lively(backend, target)
    url, seen = reverse("admin:marginalia_comments_storeddiscussion_changelist"), []

    def look(copied: int) -> None:
        seen.append(operator.get(url).content.decode())

    backend.convert(target, "buckets", Order.THREADED, progress=look)
    assert re.search(r'data-live><progress value="\d+" max="\d+" aria-label="to buckets: \d+ of \d+">', seen[0])
    assert "data-live" not in operator.get(url).content.decode()


@pytest.mark.parametrize("name", STORED)
def test_stored_comments_are_hidden_from_moderators(client, moderator, name):
    for account in (get_user_model().objects.create_user("staff", is_staff=True), moderator):
        client.force_login(account)
        assert client.get(reverse(f"admin:marginalia_comments_{name}_changelist")).status_code == 403
