"""Types declared in code: names, places, and nodes whose type is not or no longer installed."""

import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import models
from django.test import Client
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField

from cms.testing.build import EDITOR, node, nonce, save, stored
from marginalia.mongo import doctor
from nodes import content
from nodes.checks import check_content
from nodes.content import Entry, Page, Part, registry
from nodes.errors import InvalidPlace, NodeError
from nodes.models import Node
from nodes.selectors import stored_nodes
from nodes.services import editing
from tests.support.nodes.content import Cookbook, Recipe, registered


def test_shipped_types_are_declared_like_others():
    assert registry.names()[:7] == ("folder", "blog", "gallery", "basic-page", "blog-entry", "photo", "author")
    assert registry.sections() == ("folder", "blog", "gallery")
    assert registry.pages() == ("basic-page", "author")
    assert registry.dated() == ("blog-entry",)


@pytest.mark.parametrize(
    ("section", "inside", "may"),
    [
        (None, "basic-page", True),
        (None, "folder", True),
        (None, "blog-entry", False),
        ("folder", "gallery", True),
        ("blog", "blog-entry", True),
        ("blog", "recipe", True),
        ("cookbook", "recipe", True),
        ("cookbook", "blog-entry", False),
        ("folder", "recipe", False),
        ("gallery", "photo", True),
        ("recipe", "recipe", False),
        ("folder", "unheard-of", False),
        ("unheard-of", "basic-page", False),
    ],
)
def test_sections_accept_only_their_types(section, inside, may):
    with registered(Recipe, Cookbook):
        assert content.may_hold(section, inside) is may


def test_abstract_section_class_allows_its_subclasses():
    class Shelf(content.Section):
        class Meta:
            abstract = True

    class TallShelf(Shelf):
        pass

    class Book(Entry):
        stands_in = [Shelf]

    assert Book.may_stand_in(TallShelf)
    assert not Book.may_stand_in(Cookbook)


def test_class_has_a_name_a_label_and_a_description():
    assert (Recipe.type_name, str(Recipe.label)) == ("recipe", "Recipe")
    assert str(content.BlogEntry.label) == "Blog post"
    assert Recipe.description == "A dish with a recipe."
    assert content.BlogEntry.type_name == "blog-entry"
    assert list(Recipe.templates()) == ["nodes/recipe.html", "nodes/blog-entry.html"]


def test_content_types_have_no_migrations(mongo):
    with registered(Recipe, Cookbook):
        out = StringIO()
        call_command("makemigrations", "--check", "--dry-run", stdout=out)
    assert "No changes detected" in out.getvalue()


def _faults(*types):
    with registered(*types):
        return sorted((message.id, message.msg.partition(":")[0].partition(" ")[0]) for message in check_content())


def test_checks_accept_valid_types():
    assert _faults(Recipe, Cookbook) == []


def test_checks_report_two_types_of_one_name():
    class Another(Page):
        type_name = "recipe"

    assert [fault for fault, _ in _faults(Recipe, Cookbook, Another)] == ["nodes.E003"]


def test_checks_refuse_unsupported_fields():
    class Plain(content.Content):
        stands_in = ["folder"]
        code = models.CharField(max_length=5, unique=True)
        owner = models.ForeignKey("auth.User", models.CASCADE)
        file = models.FileField()

    assert _faults(Plain) == [("nodes.E005", f"Plain.{name}") for name in ("code", "file", "owner")]


def test_checks_refuse_parts_below_depth_three():
    class Fourth(Part):
        name = models.CharField(max_length=5)

    class Third(Part):
        name = models.CharField(max_length=5)

    class DeepThird(Third):
        one = EmbeddedModelField(Fourth, null=True, blank=True)
        some = EmbeddedModelArrayField(Fourth, null=True, blank=True)

    class Second(Part):
        third = EmbeddedModelField(Third, null=True, blank=True)

    class DeepSecond(Part):
        thirds = EmbeddedModelArrayField(DeepThird, null=True, blank=True)

    class First(Part):
        seconds = EmbeddedModelArrayField(Second, null=True, blank=True)

    class DeepFirst(Part):
        seconds = EmbeddedModelArrayField(DeepSecond, null=True, blank=True)

    class Flat(Page):
        first = EmbeddedModelField(First, null=True, blank=True)
        firsts = EmbeddedModelArrayField(First, null=True, blank=True)

    class Deep(Page):
        first = EmbeddedModelField(DeepFirst, null=True, blank=True)
        listed = ArrayField(EmbeddedModelField(Fourth), default=list, blank=True)

    assert _faults(Flat) == []
    assert _faults(Deep) == [
        ("nodes.E005", "Deep.listed"),
        ("nodes.E012", "Deep.first.seconds.thirds.one"),
        ("nodes.E012", "Deep.first.seconds.thirds.some"),
    ]


def test_checks_refuse_reserved_names():
    class Clashing(Page):
        slug = models.CharField(max_length=5)
        label = models.CharField(max_length=5)
        text = models.CharField(max_length=5)
        fine = models.CharField(max_length=5)

    assert _faults(Clashing) == [("nodes.E004", f"Clashing.{name}") for name in ("label", "slug", "text")]


def test_checks_include_field_checks_and_unknown_sections():
    class Lost(Page):
        stands_in = ["nowhere"]
        name = models.CharField()

    assert [fault for fault, _ in _faults(Lost)] == ["fields.E120", "nodes.E006"]


def test_node_is_read_as_an_object_of_its_type(recipes):
    made = node("recipe", "soup", parent=recipes, **{"detail.course": "starter", "detail.servings": 4})
    for found in (stored_nodes.get(made), Node.objects.get(pk=made)):
        detail = found.metadata.detail
        assert isinstance(detail, Recipe)
        assert (detail.servings, detail.get_course_display(), detail.ingredients, detail.since) == (
            4,
            "Starter",
            [],
            None,
        )
    assert stored(made)["type"] == "recipe"


def test_readers_see_the_type_where_posts_are_listed(recipes, client):
    made = node("recipe", "soup", parent=recipes, text="Hot **soup**", **{"detail.course": "starter"}, tags=("warm",))
    for address in ("/", "/cooking", "/tag/warm", "/search?q=soup", "/cooking/feed/atom", "/cooking/archive/2020"):
        response = client.get(address)
        assert response.status_code == 200, address
        assert "Soup" in response.content.decode(), address
    html = client.get("/cooking/soup").content.decode()
    assert "<strong>soup</strong>" in html
    assert '"@type": "BlogPosting"' in html
    assert "/cooking/soup<" in client.get("/sitemap-recipe-1.xml").content.decode()
    assert stored_nodes.get(made).get_absolute_url() == "/cooking/soup"


@pytest.fixture
def uninstalled(mongo):
    """A recipe and a post of a cookbook and a blog, after recipes and cookbooks were uninstalled."""
    with registered(Recipe, Cookbook):
        cookbook = node("cookbook", "cooking")
        soup = node("recipe", "soup", parent=cookbook, text="Hot soup", **{"detail.course": "starter"}, tags=("warm",))
        blog = node("blog", "blog")
        stew = node("recipe", "stew", parent=blog, **{"detail.course": "main", "detail.servings": 6}, tags=("warm",))
        node("blog-entry", "post", parent=blog, tags=("warm",), text="soup and stew")
    return {"cookbook": cookbook, "soup": soup, "blog": blog, "stew": stew}


def test_uninstalled_type_is_hidden_from_readers(uninstalled):
    client = Client()
    for address in ("/cooking", "/cooking/soup", "/blog/stew", "/cooking/feed/atom", "/sitemap-recipe-1.xml"):
        assert client.get(address).status_code == 404, address
    for address in ("/", "/blog", "/tag/warm", "/search?q=stew", "/tag/warm/feed/atom", "/blog/feed/rss"):
        response = client.get(address)
        assert response.status_code == 200, address
        assert "Post" in response.content.decode(), address
        assert not re.search("Stew|Soup", response.content.decode()), address


def test_uninstalled_type_is_kept_and_shown_to_editors(uninstalled, editor):
    ann = editor()
    assert "recipe (not installed)" in ann.client.get("/admin/nodes/node/").content.decode()
    address = f"/admin/nodes/node/{uninstalled['stew']}/change/"
    html = ann.client.get(address).content.decode()
    assert "No installed app declares the content type “recipe”" in html
    assert re.search(r"servings.*>6<", html)
    assert "node_form" not in html
    assert ann.client.post(address, {"title": "x"}).status_code == 403
    assert ann.client.get(f"/admin/nodes/node/{uninstalled['cookbook']}/change/").status_code == 200
    assert stored(uninstalled["stew"])["detail"]["servings"] == 6


def test_services_refuse_to_write_uninstalled_types(uninstalled):
    with pytest.raises(NodeError):
        save(uninstalled["stew"], nonce(uninstalled["stew"]), title="New")
    with pytest.raises(InvalidPlace, match="doesn't exist"):
        editing.create(EDITOR, type="recipe", parent_id=uninstalled["blog"], slug="", title="New")
    with pytest.raises(InvalidPlace):
        editing.create(EDITOR, type="blog-entry", parent_id=uninstalled["cookbook"], slug="", title="New")


@pytest.mark.slow
def test_doctor_reports_uninstalled_types(uninstalled):
    def told():
        return [finding.message for finding in doctor.examine() if finding.name == "type-not-installed"]

    assert told() == ["No installed app declares the type of some nodes: cookbook, recipe."]
    with registered(Recipe, Cookbook):
        assert told() == []


def test_reinstalled_type_works_as_before(uninstalled, client):
    with registered(Recipe, Cookbook):
        assert "Hot soup" in client.get("/cooking/soup").content.decode()


def test_parts_are_no_models_of_the_site():
    assert issubclass(Recipe._meta.get_field("yields").embedded_model, Part)
