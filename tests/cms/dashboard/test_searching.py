"""The search in the admin: what each role finds."""

from datetime import timedelta

import pytest

from cms.dashboard import searching
from cms.testing.build import node
from marginalia.comments.backends import backend
from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor, NewComment, Target
from marginalia.mongo.clock import now
from nodes.access import System
from nodes.services import editing
from nodes.types import Actor
from photos.actions import UploadFile
from tests.support.nodes.photo_build import gallery, upload

SEARCH = "/admin/search/"


def found(client, query) -> dict[str, list[str]]:
    """Return {kind: titles}."""
    groups = client.get(SEARCH, {"q": query}).context["groups"]
    return {group.label: [result.title for result in group.results] for group in groups}


def test_search_finds_pages_and_photos_by_title(person):
    root = person()
    page = node(slug="harbour", title="The harbour", published=None)
    photo = upload(gallery("lakes"), name="harbour.jpg")
    UploadFile(user=System("Ann"), gallery_id=None, filename="harbour-map.pdf").execute([b"%PDF-1.7"])
    assert found(root, "har") == {"Pages": ["The harbour"], "Photos": ["harbour"], "Files": ["harbour-map"]}
    html = root.get(SEARCH, {"q": "har", "part": "1"}).content.decode()
    assert f'href="/admin/nodes/node/{page}/change/"' in html
    assert f'href="/admin/nodes/photo/{photo}/change/"' in html
    assert 'href="/admin/nodes/node/?q=har"' in html
    assert "<html" not in html


def test_authors_find_their_own_pages_only(person):
    author = person("Authors")
    node(slug="other", title="Other harbour")
    editing.create(Actor.of(author.user), type="basic-page", parent_id=None, slug="mine", title="My harbour", fields={})
    assert found(author, "harbour") == {"Pages": ["My harbour"]}


def test_moderators_find_comments_and_nothing_else(person):
    moderator, editor = person("Moderators"), person("Editors")
    target = Target("nodes.node", str(node(slug="discussed", title="Lighthouse")))
    services.hold(target, author=CommentAuthor("Bea"), source="A held lighthouse", token="h")
    services.post(target, author=CommentAuthor("Lighthouse keeper"), source="Public", token="p")
    assert found(moderator, "lighthouse") == {"Comments": ["A held lighthouse", "Public"]}
    assert found(editor, "lighthouse") == {"Pages": ["Lighthouse"]}


def test_comments_of_any_age_are_found(person):
    moderator = person("Moderators")
    target = Target("nodes.node", str(node(slug="discussed")))
    begun = now() - timedelta(days=30)
    texts = ["The oldest lighthouse", *(f"Comment {n}" for n in range(250))]
    backend().import_(
        target,
        (
            NewComment(CommentAuthor("Bea"), text, f"<p>{text}</p>", text, posted=begun + timedelta(minutes=n))
            for n, text in enumerate(texts)
        ),
    )
    assert found(moderator, "light oldest") == {"Comments": ["The oldest lighthouse"]}
    assert found(moderator, "x") == {}


def test_people_are_found_by_name_and_email(person):
    root, editor = person(), person("Editors")
    for query in ("editors", "EDITORS@example"):
        assert found(root, query) == {"People": ["Editors"]}
        assert found(editor, query) == {}


def test_settings_and_pages_of_the_admin_are_found(person):
    root, author = person(), person("Authors")
    assert found(root, "time zone") == {"Settings": ["Time zone"]}
    assert found(root, "jobs") == {"Settings": ["Jobs"]}
    assert found(author, "time zone") == found(author, "jobs") == {}
    assert found(author, "tokens") == {"Settings": ["API tokens"]}


@pytest.mark.parametrize("query", ["", "   ", "$where", "!!", "<script>", "x" * 5_000])
def test_any_query_is_answered(person, query):
    root = person()
    node(title="Page")
    response = root.get(SEARCH, {"q": query})
    assert response.status_code == 200
    assert found(root, query) == {}
    assert "<script>x" not in response.content.decode()


def test_search_is_bounded(person, commands):
    root = person()
    for number in range(20):
        node(slug=f"p{number}", title=f"Harbour {number}")
    found(root, "harbour")
    with commands.recorded():
        assert len(found(root, "harbour")["Pages"]) == searching.SHOWN
    assert len(commands.sent) <= 20
    assert root.post(SEARCH, {"q": "harbour"}).status_code == 405


def test_visitors_cannot_search(client, mongo):
    assert client.get(SEARCH, {"q": "a"}).status_code == 302
