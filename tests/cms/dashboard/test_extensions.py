"""Tiles and navigation items of projects on the Dashboard."""

import pytest
from django.contrib.auth.models import Group

from editor.extensions import DashboardTile, NavigationItem, Panel, register
from editor.forms import NodeForm
from tests.support.nodes.extensions import extended

LIST = "/admin/nodes/node/"


@pytest.fixture(autouse=True)
def templates(settings, tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/panel.html").write_text("<p class='own'>{{ text }}</p>")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path, *settings.TEMPLATES[0]["DIRS"]]}]


class Orders(DashboardTile):
    label = "Orders & more"
    template = "tests/panel.html"
    permission = "nodes.publish_node"

    def context(self, user):
        return {"text": f"12 for {user.get_username()}"}


class Links(NavigationItem):
    label = "All <links>"
    url_name = "admin:nodes_node_broken_links"
    permission = "nodes.publish_node"
    icon = "root/favicon.ico"


def test_tile_and_link_are_shown_with_their_permission(mongo, editor):
    with extended(Orders, Links):
        html = editor("ann").client.get("/admin/").content.decode()
        assert "<h2>Orders &amp; more</h2>" in html
        assert "12 for ann" in html
        assert 'href="/admin/nodes/node/broken-links/"' in html
        assert "All &lt;links&gt;" in html
        assert 'src="/static/root/favicon' in html
        assert "All &lt;links&gt;" in editor("bob").client.get(LIST).content.decode()
        author = editor("jo", is_superuser=False)
        author.user.groups.add(Group.objects.get(name="Authors"))
        html = author.client.get("/admin/").content.decode()
    assert "Orders" not in html
    assert "All &lt;links&gt;" not in html


def test_failing_tile_leaves_the_dashboard_usable(mongo, editor, caplog):
    class Broken(Orders):
        def context(self, user):
            raise ZeroDivisionError

    class BrokenTemplate(Orders):
        template = "tests/missing.html"

    with extended(Broken, BrokenTemplate, Orders):
        html = editor("ann").client.get("/admin/").content.decode()
    assert html.count("be shown because of an error") == 2
    assert "12 for ann" in html
    assert "Welcome!" in html
    assert sum("failed" in record.message for record in caplog.records if record.name == "editor.extensions") == 2


def test_only_documented_classes_can_be_registered():
    for wrong in (Panel, Orders(), NodeForm):
        with pytest.raises(TypeError, match="not a subclass of ContentAdmin"):
            register(wrong)
