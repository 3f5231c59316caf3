"""Content types that extend other content types."""

import re

import pytest
from django.db import models

from cms.testing.build import node, nonce, save, stored
from marginalia.mongo import indexes
from nodes import content
from nodes.checks import check_content
from nodes.content import UPCOMING, Blog, Entry, Page, Part, Section, declared_fields, upgrade
from nodes.errors import FieldRefused
from nodes.selectors import stored_nodes
from tests.support.nodes.content import Cookbook, Recipe, Season, registered


class Event(Page):
    """Something that happens at a certain time."""

    stands_in = [Season]
    date_field = "starts"
    list_display = ["starts"]

    starts = models.DateTimeField(null=True, blank=True)
    level = models.CharField(max_length=10, choices=[("a", "Basic"), ("b", "Advanced")], default="a")

    class Meta:
        verbose_name = "event"

    def hint(self):
        return f"Level: {self.get_level_display()}"


class Festival(Event):
    """An event that lasts several days."""

    days = models.PositiveSmallIntegerField(default=3)


class Workshop(Event):
    """An event for few people, which can stand elsewhere."""

    stands_in = ["folder"]
    level = models.CharField(max_length=10, choices=[("x", "Expert")], default="x")


class LongSeason(Season):
    """A season with a summary of all years."""


class Match(Event):
    """An event of a league."""

    facets = ["hall", "league"]

    hall = models.CharField(max_length=20, blank=True)
    league = models.CharField(max_length=20, blank=True)


class Final(Match):
    """The last match of a league."""

    facets = ["hall", "league", "cup"]

    cup = models.CharField(max_length=20, blank=True)


@pytest.fixture
def season(mongo):
    with registered(Season, LongSeason, Event, Festival, Workshop):
        indexes.ensure()
        yield node("season", "season")
    indexes.ensure()


def test_type_has_its_own_name_label_and_description():
    assert (Festival.type_name, str(Festival.label)) == ("festival", "Festival")
    assert Festival.description == "An event that lasts several days."
    assert (Event.type_name, str(Event.label), Event._meta.abstract) == ("event", "Event", False)


def test_type_has_the_fields_of_the_type_that_it_extends():
    own = [path for path, _field in declared_fields.own_fields("festival")]
    with registered(Season, Event, Festival):
        own = [path for path, _field in declared_fields.own_fields("festival")]
        assert own[-3:] == ["detail.starts", "detail.level", "detail.days"]
        assert "detail.days" not in declared_fields.declared("event")
    assert Festival._meta.get_field("starts").model is Festival
    assert Event._meta.get_field("starts").model is Event
    assert not Festival._meta.parents


def test_inherited_field_can_be_replaced():
    assert Workshop().get_level_display() == "Expert"
    assert Event(level="b").hint() == "Level: Advanced"
    assert Festival(level="b").hint() == "Level: Advanced"


def test_checks_accept_types_that_extend_types():
    with registered(Season, LongSeason, Event, Festival, Workshop, Recipe, Cookbook):
        assert check_content() == []


def test_template_of_the_extended_type_is_the_fallback():
    class Essay(content.BlogEntry):
        pass

    class Almanac(LongSeason):
        template = "shop/almanac.html"

    assert list(Festival.templates()) == ["nodes/festival.html", "nodes/event.html", "nodes/basic-page.html"]
    assert list(Essay.templates()) == ["nodes/essay.html", "nodes/blog-entry.html", "nodes/blog-entry.html"]
    assert list(LongSeason.templates()) == ["nodes/long-season.html", "nodes/season.html", "nodes/upcoming.html"]
    assert list(Almanac.templates())[0] == "nodes/almanac.html"
    assert list(Almanac.templates())[-1] == "shop/almanac.html"


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    ("section", "inside", "may"),
    [
        ("season", "festival", True),
        ("season", "workshop", False),
        ("folder", "workshop", True),
        ("long-season", "event", True),
        ("long-season", "festival", True),
        ("folder", "festival", False),
    ],
)
def test_type_stands_where_the_extended_type_stands(season, section, inside, may):
    assert content.may_hold(section, inside) is may


def test_section_type_extended_by_name_contains_the_same_types():
    class Magazine(Blog):
        pass

    class Note(Entry):
        stands_in = ("blog",)

    with registered(Magazine, Note):
        assert content.may_hold("magazine", "note")
        assert content.may_hold("magazine", "blog-entry")


def test_pages_of_both_types_are_stored_listed_and_read(season, client):
    gala = node("event", "gala", parent=season, title="Gala", **{"detail.starts": "2999-05-01T20:00Z"})
    week = node("festival", "week", parent=season, title="Week", **{"detail.starts": "2999-05-02T20:00Z"})
    assert (stored(gala)["type"], stored(week)["type"]) == ("event", "festival")
    read = stored_nodes.get(week).metadata.detail
    assert isinstance(read, Festival)
    assert isinstance(read, Event)
    assert (read.days, read.level) == (3, "a")
    html = client.get("/season").content.decode()
    assert "Gala" in html
    assert "Week" in html
    assert client.get("/season/week").status_code == 200
    assert "/season/week<" in client.get("/sitemap-festival-1.xml").content.decode()
    assert "/season/week<" not in client.get("/sitemap-event-1.xml").content.decode()


def test_type_names_filter_exactly_one_type(season, editor, client):
    node("event", "gala", parent=season, title="Gala")
    node("festival", "week", parent=season, title="Week")
    ann = editor()
    html = ann.client.get("/admin/nodes/node/", {"type": "event"}).content.decode()
    assert "Gala" in html
    assert "Week" not in html
    found = client.get("/api/v1/nodes", {"type": "event"}).json()["items"]
    assert [one["title"] for one in found] == ["Gala"]


def test_inherited_facets_filter_both_types(mongo, client):
    def titles(address):
        html = client.get(address).content.decode()
        return [title for title in ("Heats", "Semis", "Gold") if title in html]

    with registered(Season, Match, Final):
        season = node("season", "season")
        for type, title, hall, more in (
            ("match", "Heats", "North", {}),
            ("match", "Semis", "South", {}),
            ("final", "Gold", "North", {"detail.cup": "Big"}),
        ):
            fields = {"detail.starts": "2999-05-01T20:00Z", "detail.hall": hall, **more}
            made = node(type, title.lower(), parent=season, title=title, **fields)
        facets = stored_nodes.database()["cms.nodes"].find_one({"_id": made})["derived"]["facets"]
        assert facets == ["final.cup=Big", "match.hall=North"]
        assert titles("/season?hall=North") == ["Heats", "Gold"]
        assert titles("/season?cup=Big&hall=North") == ["Gold"]
        assert titles("/season?cup=Big") == ["Gold"]
        html = client.get("/season").content.decode()
        assert html.count("?hall=North") == 1
        assert re.search(r'href="/season\?hall=North"[^>]*>\s*North\s*<span[^>]*>2<', html), html
        assert html.count("?cup=Big") == 1
        counts = client.get("/api/v1/nodes/facets", {"section": str(season)}).content
        assert b"North" in counts


def test_editor_saves_inherited_and_own_fields(season, editor):
    week = node("festival", "week", parent=season)
    ann = editor()
    address = f"/admin/nodes/node/{week}/change/"
    form = ann.open(address)
    assert ann.send(address, form, days="5", level="b").status_code == 302
    assert (stored(week)["detail"]["days"], stored(week)["detail"]["level"]) == (5, "b")


def test_inherited_clean_rejects_values(mongo):
    class Trip(Page):
        start = models.IntegerField(default=0)
        end = models.IntegerField(default=0)

        def clean(self):
            if self.end < self.start:
                raise content.base.values.ValidationError({"end": "Too early."})

    class Cruise(Trip):
        ship = models.CharField(max_length=20, blank=True)

    with registered(Trip, Cruise):
        made = node("cruise", "north")
        with pytest.raises(FieldRefused, match="Too early"):
            save(made, nonce(made), **{"detail.start": 5})


def test_type_can_be_changed_to_extend_another_without_a_migration(mongo):
    class Before(Page):
        type_name = "festival"
        days = models.PositiveSmallIntegerField(default=3)

    class Occasion(Page):
        starts = models.DateTimeField(null=True, blank=True)
        place = models.CharField(max_length=30, default="Hall")

    class After(Occasion):
        type_name = "festival"
        days = models.PositiveSmallIntegerField(default=3)

    with registered(Before):
        made = node("festival", "week", text="Long", **{"detail.days": 9})
        before = stored(made)
    with registered(Occasion, After):
        indexes.ensure()
        assert stored(made) == before
        read = stored_nodes.get(made).metadata.detail
        assert (type(read), read.days, read.place, read.starts) == (After, 9, "Hall", None)
        save(made, nonce(made), **{"detail.place": "Barn"})
        assert stored(made)["detail"] == {**before["detail"], "place": "Barn"}
    indexes.ensure()


def test_upgrade_functions_are_inherited(mongo):
    class Dish(Page):
        schema_version = 2
        servings = models.IntegerField(default=2)

        @upgrade(from_version=1)
        def rename(detail):
            if "serves" in detail:
                detail["servings"] = detail.pop("serves")
            return detail

    class Soup(Dish):
        schema_version = 3
        hot = models.BooleanField(default=True)

        @upgrade(from_version=2)
        def chill(detail):
            return {**detail, "hot": False}

    assert sorted(number for number, _function in Soup.upgraders) == [1, 2]
    assert [number for number, _function in Dish.upgraders] == [1]
    with registered(Dish, Soup):
        assert [message for message in check_content() if "Soup" in str(message.msg)] == []


def test_parts_can_extend_parts():
    class Step(Part):
        what = models.CharField(max_length=20)

    class Timed(Step):
        minutes = models.IntegerField(default=0)

    assert [field.name for field in Timed._meta.fields] == ["id", "what", "minutes"]


def test_abstract_classes_are_not_part_of_the_lineage():
    class Base(Section):
        lists = UPCOMING

        class Meta:
            abstract = True

    class Year(Base):
        pass

    assert Year.lineage() == [Year]
    assert LongSeason.lineage() == [LongSeason, Season]
