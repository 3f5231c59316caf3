"""The page cache: what is cached and what is not, and that no page is stale."""

import copy
from dataclasses import replace
from datetime import timedelta

import pytest
from bson import ObjectId
from django.contrib.auth import get_user_model
from django.test import Client

from cms.testing.build import EDITOR, node, nonce
from marginalia.comments.backends.discussions import Discussions
from marginalia.comments.posting import services as comments
from marginalia.comments.types import CommentAuthor
from marginalia.mongo.clock import now
from nodes.models import Node
from nodes.services import drafts, editing
from nodes.services.site import save_settings
from nodes.types import NO_TAGS, TagChange
from reader import page_cache
from reader.views import pages
from tests.support import commands


def save(node_id, tags=NO_TAGS, **fields):
    return editing.save(EDITOR, node_id, nonce(node_id), {k.replace("__", "."): v for k, v in fields.items()}, tags)


def test_second_reader_costs_one_command(post, client, commands):
    first = client.get("/blog/post")
    with commands.recorded():
        second = client.get("/blog/post")
    assert second.content == first.content
    assert len(commands) == 1  # the site's versions, the node's nonce and the discussion's version
    assert second["Content-Type"] == first["Content-Type"]
    assert second["Content-Security-Policy"] == first["Content-Security-Policy"]
    assert second["Content-Language"] == first["Content-Language"] == "en"


def test_comment_renders_only_the_discussion_again(post, client, commands):
    save(post, TagChange(added=frozenset({"ink"})))
    client.get("/blog/post")
    comments.post(Node.objects.get(pk=post), author=CommentAuthor("Bea"), source="Hello there", token="t" * 16)
    with commands.recorded():
        renewed = client.get("/blog/post")
    assert len(commands) == 4  # all versions, node, discussion, comments
    rendered = {template.name for template in renewed.templates}
    assert "nodes/_discussion.html" in rendered
    assert "base.html" not in rendered
    kept = client.get("/blog/post")
    page_cache.storage.clear()
    anew = client.get("/blog/post")
    assert b"Hello there" in anew.content
    assert renewed.content == kept.content
    assert (renewed["ETag"], renewed["Content-Length"]) == (kept["ETag"], kept["Content-Length"])
    assert _lines(renewed) == _lines(anew)
    assert dict(renewed.headers).keys() == dict(anew.headers).keys()
    assert renewed["Content-Security-Policy"] == anew["Content-Security-Policy"]


def test_new_comment_changes_the_entity_tag(post, client):
    """Otherwise, a cache in front of the site would confirm that a reader's copy without the comment is current."""
    first = client.get("/blog/post")
    comments.post(Node.objects.get(pk=post), author=CommentAuthor("Bea"), source="Hello there", token="t" * 16)
    renewed = client.get("/blog/post", headers={"if-none-match": first["ETag"]})
    assert renewed.status_code == 200
    assert renewed["ETag"] != first["ETag"]
    unchanged = client.get("/blog/post", headers={"if-none-match": renewed["ETag"]})
    assert (unchanged.status_code, unchanged["ETag"]) == (304, renewed["ETag"])


def test_page_with_a_pinned_comment_is_cached_until_the_comment_changes(post, client, commands):
    target = Node.objects.get(pk=post)
    first = comments.post(target, author=CommentAuthor("Bea"), source="First comment", token="t" * 16).comment
    comments.restrict(target, pinned=first.slug)
    client.get("/blog/post")
    with commands.recorded():
        page = client.get("/blog/post").content
    assert (len(commands), page.count(b"First comment"), b"comments-pinned" in page) == (1, 2, True)
    comments.edit(target, first.slug, source="Other words", rev=1, token="e")
    assert client.get("/blog/post").content.count(b"Other words") == 2
    comments.remove(target, first.slug)
    assert b"comments-pinned" not in client.get("/blog/post").content
    comments.restore(target, first.slug)
    assert b"comments-pinned" in client.get("/blog/post").content
    comments.restrict(target, pinned="")
    assert b"comments-pinned" not in client.get("/blog/post").content


def test_comment_that_waits_for_a_moderator_renders_nothing_again(post, client, commands):
    """Its discussion begins without a change that readers can see."""
    first = client.get("/blog/post")
    comments.hold(Node.objects.get(pk=post), author=CommentAuthor("Bea"), source="Hello there", token="t" * 16)
    with commands.recorded():
        assert client.get("/blog/post").content == first.content
    assert len(commands) == 1
    page_cache.storage.clear()
    assert client.get("/blog/post").content == first.content
    comments.post(Node.objects.get(pk=post), author=CommentAuthor("Bea"), source="Hello again", token="u" * 16)
    assert b"Hello again" in client.get("/blog/post").content


def _lines(response):
    return [line.strip() for line in response.content.decode().splitlines() if line.strip()]


def test_theme_with_text_beside_the_discussion_is_correct(post, client, settings):
    theme = (
        "{% load comments %}<!-- discussion -->{{ detail.text }}"
        '{% render_comment_list for node order="threaded" %}<!-- end of discussion -->'
    )
    save(post, detail__text="Words of the text")
    templates = copy.deepcopy(settings.TEMPLATES)
    own = ("django.template.loaders.locmem.Loader", {"nodes/_discussion.html": theme})
    templates[0]["OPTIONS"]["loaders"] = [own, *templates[0]["OPTIONS"]["loaders"]]
    settings.TEMPLATES = templates
    client.get("/blog/post")
    comments.post(Node.objects.get(pk=post), author=CommentAuthor("Bea"), source="Hello there", token="t" * 16)
    anew = client.get("/blog/post").content
    assert b"Words of the text<section" in anew
    assert b"Hello there" in anew


def test_page_that_shows_comment_counts_elsewhere_is_rendered(post, client):
    client.get("/blog/post")
    ((key, entry),) = page_cache.storage.cache.entries.items()
    page_cache.storage.cache.put(
        key,
        replace(
            entry,
            readings=entry.readings + 1,
            compressed=page_cache.entries.compress(entry.content.replace(b"<h1>", b"<h1>0 ")),
        ),
    )
    comments.post(Node.objects.get(pk=post), author=CommentAuthor("Bea"), source="Hello there", token="t" * 16)
    page = client.get("/blog/post").content
    assert b"<h1>0 " not in page
    assert b"Hello there" in page


def test_comment_and_save_render_the_whole_page_again(post, client):
    client.get("/blog/post")
    comments.post(Node.objects.get(pk=post), author=CommentAuthor("Bea"), source="Hello there", token="t" * 16)
    save(post, title="Another title")
    page = client.get("/blog/post").content
    assert b"Hello there" in page
    assert b"Another title" in page


def test_api_node_has_one_representation_per_nonce(post, client):
    answer = client.get(f"/api/v1/nodes/{post}", headers={"accept-encoding": "gzip"})
    assert answer["ETag"].startswith(f'"{nonce(post)}')
    assert "Content-Encoding" not in client.get(f"/api/v1/nodes/{post}", headers={"accept-encoding": "gzip"}).headers


@pytest.mark.parametrize("path", ["/feed/atom", "/blog/feed/json", "/blog/archive", f"/blog/archive/{now().year}"])
def test_feeds_and_archives_are_cached_until_a_change(post, client, commands, path):
    save(post, title="Before", published=now() - timedelta(seconds=1))
    first = client.get(path)
    since = first.headers.get("Last-Modified")
    with commands.recorded():
        assert client.get(path).content == first.content
        assert client.get(path, headers={"if-none-match": first["ETag"]}).status_code == 304
        if since:
            assert client.get(path, headers={"if-modified-since": since}).status_code == 304
    assert set(commands.names) <= {"find", "aggregate"}
    assert len(commands) == (3 if since else 2)
    save(post, title="After", published=now() - timedelta(days=40))
    assert client.get(path).content != first.content


def test_comments_in_another_database_are_compared_too(post, client, commands, monkeypatch):
    monkeypatch.setattr(page_cache.entries, "DEFAULT_DB_ALIAS", "another")
    first = client.get("/blog/post")
    with commands.recorded():
        assert client.get("/blog/post").content == first.content
    assert len(commands) == 2
    comments.post(Node.objects.get(pk=post), author=CommentAuthor("Bea"), source="Hello there", token="t" * 16)
    assert b"Hello there" in client.get("/blog/post").content


def test_outdated_page_reads_the_site_once(post, client, commands):
    client.get("/blog/post")
    save(post, title="Changed")
    with commands.recorded():
        assert b"Changed" in client.get("/blog/post").content
    read = [event.command[event.command_name] for event in commands.sent]
    assert read[0] == "cms.site"
    assert read.count("cms.site") == 1


def test_page_in_another_language_is_not_reused(post, client):
    assert client.get("/blog/post")["Content-Language"] == "en"
    save_settings({"language": "zh-hans"}, {"language": "en"})
    assert client.get("/blog/post")["Content-Language"] == "zh-hans"


def test_restored_backup_serves_no_old_page(post, client, mongo):
    """A restore puts documents back without the services.

    No worker has cached pages with the versions of the backup.
    """
    backup = {name: list(mongo[name].find()) for name in ("cms.nodes", "cms.site")}
    save(post, detail__text="Written after the backup")
    assert b"Written after the backup" in client.get("/blog/post").content
    for name, documents in backup.items():
        mongo[name].delete_many({})
        mongo[name].insert_many(documents)
    assert b"First text" in client.get("/blog/post").content


def test_restored_backup_with_a_known_version_is_correct(post, client, mongo):
    """Pages of the restored state equal those cached before."""
    client.get("/blog/post")
    backup = list(mongo["cms.site"].find()), list(mongo["cms.nodes"].find())
    save(post, detail__text="Written after the backup")
    client.get("/blog/post")
    for name, documents in zip(("cms.site", "cms.nodes"), backup, strict=True):
        mongo[name].delete_many({})
        mongo[name].insert_many(documents)
    assert b"First text" in client.get("/blog/post").content


def test_save_is_visible_at_once(post, client):
    assert b"First text" in client.get("/blog/post").content
    save(post, detail__text="Second text")
    assert b"Second text" in client.get("/blog/post").content


def test_comment_is_visible_at_once(post, client):
    client.get("/blog/post")
    comments.post(Node.objects.get(pk=post), author=CommentAuthor("Bea"), source="Hello there", token="t" * 16)
    assert b"Hello there" in client.get("/blog/post").content


def test_conditional_request_returns_304(post, client):
    etag = client.get("/blog/post")["ETag"]
    assert client.get("/blog/post", headers={"if-none-match": etag}).status_code == 304
    save(post, title="Changed")
    changed = client.get("/blog/post", headers={"if-none-match": etag})
    assert changed.status_code == 200
    assert changed["ETag"] != etag


def test_conditional_request_after_a_due_time_returns_200(post, client, monkeypatch):
    """A page whose text expires, or that lists a newly published page, changes without a write."""
    soon = now() + timedelta(seconds=30)
    save(post, expires=soon)
    etag = client.get("/blog/post")["ETag"]
    (entry,) = page_cache.storage.cache.entries.values()
    assert entry.expires == soon
    assert client.get("/blog/post", headers={"if-none-match": etag}).status_code == 304
    monkeypatch.setattr(page_cache.entries, "now", lambda: soon)
    monkeypatch.setattr(pages, "now", lambda: soon)
    gone = client.get("/blog/post", headers={"if-none-match": etag})
    assert gone.status_code == 404


@pytest.mark.parametrize("field", ["published", "expires"])
def test_entry_ends_at_the_next_due_time(post, client, field):
    soon = now() + timedelta(seconds=20)
    node(slug="other", **{field: soon})
    client.get("/blog/post")
    (entry,) = page_cache.storage.cache.entries.values()
    assert entry.expires == soon


def test_scheduled_changes_end_the_entry_and_show_in_time(post, client, monkeypatch):
    """Nothing is written when they are due: the cached page and its ETag expire."""
    soon = now() + timedelta(seconds=30)
    before = client.get("/blog/post")
    drafted = drafts.save_draft(EDITOR, post, nonce(post), {"title": "From then on"})
    drafts.schedule(EDITOR, post, drafted.nonce, soon)
    etag = client.get("/blog/post")["ETag"]
    assert etag == before["ETag"]
    (entry,) = page_cache.storage.cache.entries.values()
    assert entry.expires == soon
    assert client.get("/blog/post", headers={"if-none-match": etag}).status_code == 304
    monkeypatch.setattr(page_cache.entries, "now", lambda: soon)
    monkeypatch.setattr(pages, "now", lambda: soon)
    changed = client.get("/blog/post", headers={"if-none-match": etag})
    assert (changed.status_code, b"From then on" in changed.content) == (200, True)
    assert changed["ETag"] != etag


def test_due_time_during_rendering_ends_the_entry(post, client, monkeypatch):
    soon = now() + timedelta(seconds=20)
    node(slug="other", published=soon)

    def kept_late(*_):
        monkeypatch.setattr(page_cache.entries, "now", lambda: soon + timedelta(seconds=1))
        return True

    monkeypatch.setattr(page_cache.middleware, "is_shareable", kept_late)
    client.get("/blog/post")
    (entry,) = page_cache.storage.cache.entries.values()
    assert entry.expires == soon


def test_entry_ends_when_comments_close(post, client, mongo):
    save_settings({"comments_close_after_days": 1}, {"comments_close_after_days": 0})
    near = now() - timedelta(days=1) + timedelta(seconds=25)
    save(post, published=near)
    client.get("/blog/post")
    (entry,) = page_cache.storage.cache.entries.values()
    assert entry.expires == near + timedelta(days=1)


def test_entry_ends_after_ten_minutes(post, client):
    client.get("/blog/post")
    (entry,) = page_cache.storage.cache.entries.values()
    assert entry.expires - now() <= timedelta(minutes=10)
    midnight = now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    assert entry.expires >= min(midnight, now() + timedelta(minutes=9))


@pytest.mark.parametrize("same_database", [True, False])
@pytest.mark.parametrize("is_first", [True, False])
def test_comment_is_visible_though_its_commit_was_lost(post, client, mongo, monkeypatch, same_database, is_first):
    """The commit doesn't wait for the journal. Only the claim and the old version remain."""
    if not same_database:
        monkeypatch.setattr(page_cache.entries, "DEFAULT_DB_ALIAS", "another")
    target = Node.objects.get(pk=post)
    if not is_first:
        comments.post(target, author=CommentAuthor("Bea"), source="First comment", token="t" * 16)
    assert (b"First comment" not in client.get("/blog/post").content) == is_first
    before, commit = [], Discussions.commit

    def lost(*args, **kwargs):
        before.extend(mongo.discussions.find())
        return commit(*args, **kwargs)

    monkeypatch.setattr(Discussions, "commit", lost)
    comments.post(target, author=CommentAuthor("Bea"), source="Second comment", token="u" * 16)
    mongo.discussions.replace_one({"_id": before[0]["_id"]}, before[0])
    assert b"Second comment" in client.get("/blog/post").content


def test_retry_that_changes_nothing_renews_the_version(post, client):
    client.get("/blog/post")
    before = next(iter(page_cache.storage.cache.entries.values())).site_versions
    editing.save(EDITOR, post, ObjectId(), {"title": "Post"})
    client.get("/blog/post")
    assert next(iter(page_cache.storage.cache.entries.values())).site_versions != before


def test_pages_of_sessions_are_not_cached(post, client):
    client.force_login(get_user_model().objects.create_superuser("ann", password="x"))
    assert client.get("/blog/post").status_code == 200
    assert not page_cache.storage.cache.entries


def test_session_never_gets_a_cached_page(post, client):
    client.get("/blog/post")
    client.force_login(get_user_model().objects.create_superuser("ann", password="x"))
    assert "ETag" not in client.get("/blog/post")


@pytest.mark.parametrize(
    "path", ["/blog/post?utm=1", "/blog/post?comments=newest&x=2", "/nothing-here", "/admin/login/", "/blog/post/"]
)
def test_uncacheable_urls_are_not_cached(post, client, path):
    client.get(path)
    assert not page_cache.storage.cache.entries


def test_parameters_of_another_route_are_not_cached(post, client):
    client.get("/?comments=oldest")
    assert not page_cache.storage.cache.entries


def test_repeated_parameter_is_not_cached(post, client):
    """A view reads the last value, so `?from=A&from=` and `?from=&from=A` are two pages."""
    edge = f"<{10**12}.0.{'0' * 24}"
    queries = [{"from": [edge, ""]}, {"from": ["", edge]}, {"from": ["junk", ""]}, {"from": ["", ""]}]
    pages = [client.get("/blog", query).content for query in queries]
    assert not page_cache.storage.cache.entries
    assert pages[0] != pages[1]
    client.get("/blog", {"from": edge})
    assert len(page_cache.storage.cache.entries) == 1


def greet(get_response):
    """Return a middleware that sets a cookie."""

    def respond(request):
        response = get_response(request)
        response.set_cookie("greeting", "hello")
        return response

    return respond


def test_response_with_a_cookie_of_other_middleware_is_not_cached(post, settings):
    outermost = settings.MIDDLEWARE.index("reader.page_cache.middleware.PageCacheMiddleware")
    settings.MIDDLEWARE = [
        *settings.MIDDLEWARE[: outermost + 1],
        f"{__name__}.greet",
        *settings.MIDDLEWARE[outermost + 1 :],
    ]
    assert "greeting" in Client().get("/blog/post").cookies
    assert not page_cache.storage.cache.entries


def test_wrong_host_is_rejected_with_all_headers(post, client):
    response = client.get("/blog/post", headers={"host": "elsewhere.example"})
    assert response.status_code == 400
    assert "Content-Security-Policy" in response.headers


def test_hosts_and_schemes_are_cached_separately(post, client):
    client.get("/blog/post", headers={"host": "localhost"})
    client.get("/blog/post", headers={"host": "127.0.0.1"})
    client.get("/blog/post", secure=True)
    assert len(page_cache.storage.cache.entries) == 3


class _Reading(list):
    """Replaces the list of a CommandLog, and reads a page before each command is sent."""

    def __init__(self, read):
        super().__init__()
        self._read, self._reading, self.times = read, False, 0

    def append(self, event):
        if not self._reading:
            self._reading = True
            try:
                self._read()
                self.times += 1
            finally:
                self._reading = False


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("change", ["text", "section", "comment"])
def test_reads_between_commands_of_a_save_leave_nothing_stale(post, change):
    """A reader after the save sees the change, whatever was cached during it, because the version is renewed last."""

    def read():
        return Client().get("/blog/post").content.decode()

    reading = _Reading(read)
    log = commands.CommandLog(reading)
    commands.listen(log)
    try:
        match change:
            case "text":
                save(post, detail__text="Second text")
            case "section":
                blog = Node.objects.get(pk=post).metadata.parent_id
                save(blog, title="Second text")
            case "comment":
                node_ = Node.objects.get(pk=post)
                comments.post(node_, author=CommentAuthor("Bea"), source="Second text", token="t" * 16)
    finally:
        commands.stop_listening(log)
    assert reading.times >= 3
    assert "Second text" in read()


def test_page_under_a_script_prefix_is_not_cached(post, client, settings):
    settings.FORCE_SCRIPT_NAME = None  # as if the request's environment contained it
    prefixed = client.get("/blog/post", SCRIPT_NAME="/gone").content.decode()
    assert "/gone/blog" in prefixed
    assert "/gone" not in client.get("/blog/post").content.decode()
    assert "/gone/blog" in client.get("/blog/post", SCRIPT_NAME="/gone").content.decode()
