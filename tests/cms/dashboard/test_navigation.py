"""The rail: its links by role, the current page, and its cost."""

import pytest

from cms.dashboard import navigation
from cms.testing.build import node
from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor, Target

LIST = "/admin/nodes/node/"
WRITING = ["Dashboard", "Write", "Pages", "Photos", "Files"]
SETTINGS = ["Site", "People", "Roles", "Tags", "Redirects", "Import"]
TECHNICAL = ["Discussions", "Stored comments", "Buckets", "Jobs", "API tokens"]


def rail(client, page="/admin/") -> navigation.Rail:
    return client.get(page).context["rail"]


def labels(links) -> list[str]:
    return [str(link.label) for link in links]


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    ("group", "links", "groups"),
    [
        ("Administrators", [*WRITING, "Comments"], {"Settings": SETTINGS, "For technicians": TECHNICAL}),
        ("Editors", WRITING, {"Settings": ["Tags", "Redirects"], "For technicians": ["API tokens"]}),
        ("Authors", WRITING, {"For technicians": ["API tokens"]}),
        ("Moderators", ["Dashboard", "Comments"], {"For technicians": ["API tokens"]}),
    ],
)
def test_rail_has_the_links_that_a_role_can_use(person, group, links, groups):
    client = person(group)
    node()
    shown = rail(client)
    assert labels(shown.links) == links
    assert {group.label: labels(group.links) for group in shown.groups} == groups
    for link in shown.all_links():
        assert client.get(link.url).status_code == 200, link


def test_rail_is_on_every_page(person):
    root, page = person(), node()
    for address in ("/admin/", LIST, f"{LIST}{page}/change/", "/admin/nodes/photo/", "/admin/password_change/"):
        assert '<header class="rail">' in root.get(address).content.decode(), address
    assert '<header class="rail">' not in root.get("/admin/auth/user/add/?_popup=1").content.decode()


@pytest.mark.parametrize(
    ("page", "current"),
    [
        ("/admin/", ["Dashboard"]),
        (LIST, ["Pages"]),
        (f"{LIST}trash/", ["Pages"]),
        (f"{LIST}add/", ["Write"]),
        ("/admin/jobs/", ["Jobs"]),
        ("/admin/password_change/", []),
    ],
)
def test_rail_marks_the_current_page(person, page, current):
    root = person()
    shown = rail(root, page)
    assert labels(link for link in shown.all_links() if link.is_current) == current
    assert [group.label for group in shown.groups if group.is_current] == (
        ["For technicians"] if current == ["Jobs"] else []
    )
    html = root.get(page).content.decode()
    links = html.partition('<header class="rail">')[2].partition("</header>")[0]
    assert links.count('aria-current="page"') == len(current)


def test_rail_counts_pending_comments(person, monkeypatch):
    moderator, editor = person("Moderators"), person("Editors")
    assert 'class="rail-count"' not in moderator.get("/admin/").content.decode()
    target = Target("nodes.node", str(node(slug="discussed")))
    for number in range(3):
        services.hold(target, author=CommentAuthor("A"), source="Held", token=f"h{number}")
    assert '<b class="rail-count">3 ' in moderator.get("/admin/").content.decode()
    monkeypatch.setattr(navigation, "MOST_PENDING", 2)
    assert '<b class="rail-count">2+ ' in moderator.get("/admin/").content.decode()
    assert 'class="rail-count"' not in editor.get("/admin/").content.decode()


def test_rail_costs_one_command_for_moderators(person, commands, monkeypatch):
    root = person()

    def count() -> int:
        with commands.recorded():
            assert root.get(LIST).status_code == 200
        return len(commands.sent)

    count()
    with_rail = count()
    monkeypatch.setattr(navigation, "rail", lambda request, apps: navigation.Rail((), ()))
    assert with_rail - count() == 1
