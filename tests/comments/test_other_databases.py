"""Comments in their own database beside a project's default one: workers, migrations, dumps and outages."""

from html import unescape
from io import StringIO
from itertools import count

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from django.template import Context, Template
from django.test import RequestFactory

from marginalia.comments.operations.routers import CommentsRouter
from marginalia.comments.posting import services
from marginalia.comments.reading import outages
from marginalia.comments.types import CommentAuthor, Target
from marginalia.mongo.connection import database
from marginalia.mongo.doctor import examine
from marginalia.mongo.servers import outage_after
from tests.tasks import examples

pytestmark = pytest.mark.usefixtures("mongo")

TAGS = (
    "{% load comments %}Page. {% get_comment_count for nodes.node pk as n %}{% render_comment_list for nodes.node pk %}"
    "{% get_comment_list for nodes.node pk as list %}{% for c in list %}{{ c }}{% endfor %}"
    "{% get_comment_counts objects as counts %}{% for obj, m in counts %}{{ m }}{% endfor %}"
    "{% get_recent_comments 5 as newest %}"
    "{% render_recent_comments %}{% render_comment_form_link for nodes.node pk %}{{ n }}{{ newest|length }}{{ list|length }}"
)


aliases = (f"beside-{n}" for n in count())


@pytest.fixture
def separate_database(mongo, settings):
    """A function that gives comments their own connection, with changes to the default one, and returns its alias."""
    alias = next(aliases)  # the back end caches one client per alias

    def change(**changes):
        connections.settings[alias] = {**connections.settings["default"], "NAME": f"{mongo.name}_beside", **changes}
        settings.COMMENTS = {
            **settings.COMMENTS,
            "DATABASE": alias,
            "POLICY": "marginalia.comments.posting.policy.stock",
            "TASKS": "comments",
        }
        settings.TASKS = {**settings.TASKS, "comments": {**settings.TASKS["default"], "OPTIONS": {"DATABASE": alias}}}
        return alias

    yield change
    mongo.client.drop_database(f"{mongo.name}_beside")
    connections[alias].close()
    del connections[alias], connections.settings[alias]


def render(**context):
    pk = "1" * 24
    stock = {"request": RequestFactory().get("/"), "pk": pk, "objects": [Target("nodes.node", pk)]}
    return Template(TAGS).render(Context({**stock, **context}))


def test_page_is_shown_without_comments_during_their_outage(separate_database):
    # A minute, longer than anyone would wait for this test if the tags had no time limit.
    separate_database(HOST="mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=60000&timeoutMS=60000")
    html = render()
    assert html.startswith("Page. ")
    assert html.count("Comments can't be shown right now.") == 2, "the list, the link to the form"
    assert "0 comments" not in html


def test_process_pauses_after_an_outage(separate_database, monkeypatch):
    alias = separate_database(HOST="mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=60000&timeoutMS=60000")
    tries = []

    def record(seconds, used_alias):
        tries.append(used_alias)
        return outage_after(0.01, used_alias)

    monkeypatch.setattr(outages, "outage_after", record)
    for _ in range(3):
        assert "Comments can't be shown right now." in render()
    assert tries == [alias]
    monkeypatch.setitem(outages._retry_at, alias, 0)
    assert "Comments can't be shown right now." in render()
    assert tries == [alias, alias]


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("path", ["form/nodes.node/{pk}", "on/nodes.node/{pk}", "feed/nodes.node/{pk}"])
def test_page_of_comments_is_unavailable_during_their_outage(post_page, separate_database, client, monkeypatch, path):
    monkeypatch.setattr(outages, "PATIENCE", 0.1)
    separate_database(HOST="mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=60000&timeoutMS=60000")
    response = client.get(f"/comments/{path.format(pk=post_page.pk)}")
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert "Comments aren't available right now." in unescape(response.content.decode())


def test_sent_comment_is_shown_again_during_an_outage(post_page, separate_database, client, monkeypatch):
    monkeypatch.setattr(outages, "FORM_PATIENCE", 0.1)
    form = client.get(f"/comments/form/{post_page.label}/{post_page.pk}").content.decode()
    token = form.partition('name="token" value="')[2].partition('"')[0]
    separate_database(HOST="mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=60000&timeoutMS=60000")
    response = client.post("/comments/post", {"token": token, "name": "Ann", "text": "Typed for an hour"})
    assert response.status_code == 503
    assert "Typed for an hour" in response.content.decode()


def test_page_is_shown_with_comments_of_another_database(separate_database):
    separate_database()
    html = render()
    assert "be shown right now" not in html
    assert "comments-form" in html


def test_worker_also_works_on_the_database_of_comments(separate_database):
    alias = separate_database()
    examples.seen.clear()
    examples.note.using(backend="comments").enqueue(1)
    assert database(alias)["jobs"].count_documents({}) == 1
    call_command("work", "--once", stdout=StringIO())
    assert examples.seen == [1]
    examples.note.using(backend="comments").enqueue(2)
    call_command("work", "--once", "--database", "default", stdout=StringIO())
    assert examples.seen == [1]


def test_doctor_expects_no_migrations_in_another_database(separate_database):
    alias = separate_database()
    database(alias).create_collection("comments")
    names = {finding.name for finding in examine()}
    assert "migration-pending" not in names
    assert "index-missing" in names, "what does belong there"


def test_nothing_is_migrated_into_the_database_of_comments(separate_database):
    alias = separate_database()
    router = CommentsRouter()
    assert router.allow_migrate(alias, "auth") is False
    assert router.allow_migrate("default", "auth") is None


def test_router_allows_migrations_of_the_default_database():
    assert CommentsRouter().allow_migrate("default", "auth") is None


def test_dumpdata_of_comments_refers_to_export_comments():
    for label in ("marginalia_comments", "marginalia_comments.StoredComment"):
        with pytest.raises(CommandError, match="export_comments"):
            call_command("dumpdata", label, stdout=StringIO())


def test_dumpdata_dumps_other_apps(group):
    group("Potters")
    out = StringIO()
    call_command("dumpdata", exclude=["nodes", "contenttypes", "sessions"], stdout=out)
    assert "Potters" in out.getvalue()
    assert '"comments.' not in out.getvalue()


def test_flush_empties_the_collections_of_one_database(separate_database, mongo):
    alias = separate_database()
    services.post(Target("nodes.node", "1" * 24), author=CommentAuthor("Ann"), source="Hello", token="a")
    examples.note.using(backend="comments").enqueue(1)
    mongo["comments"].insert_one({"discussion_id": "other database"}, bypass_document_validation=True)
    call_command("flush", database=alias, interactive=False, verbosity=0)
    counts = [database(alias)[name].count_documents({}) for name in ("comments", "discussions", "jobs")]
    assert (counts, mongo["comments"].count_documents({})) == ([0, 0, 0], 1)
