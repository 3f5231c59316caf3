"""Queries for the pages of a content type, by its declared fields."""

from base64 import urlsafe_b64encode
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from urllib.parse import quote

import pytest
from bson import ObjectId
from django.contrib.auth.models import AnonymousUser, Permission, User
from django.core.exceptions import FieldError, ValidationError
from django.db import NotSupportedError, models
from django.db.models import Q
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField

from cms.testing.build import EDITOR, node, nonce, save
from marginalia.mongo.clock import now
from marginalia.mongo.engine.read_tracking import watch_reads
from nodes.content import Content, NodeField, Page, Part, PhotoContent
from nodes.models import Node, dependencies, stored_site, tree
from nodes.selectors import stored_nodes
from nodes.services import drafts, editing, trash
from nodes.types import Actor
from tests.support.nodes.content import Concert, Season, registered
from tests.support.nodes.photo_build import gallery, upload

START = datetime(2030, 5, 1, 19, tzinfo=UTC)
DAY = timedelta(days=1)


class Venue(Part):
    city = models.CharField(max_length=50)
    seats = models.PositiveIntegerField(default=0)


class Happening(Page):
    """A base class for types with a start time."""

    starts = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


class Event(Happening):
    """An event with a field of each kind that queries treat differently."""

    facets = ["hall", "topics", "is_free"]

    hall = models.CharField(max_length=50, blank=True)
    on = models.DateField(null=True, blank=True)
    price = models.DecimalField(max_digits=6, decimal_places=2, null=True, blank=True)
    places = models.IntegerField(default=0)
    rating = models.FloatField(null=True, blank=True)
    lasts = models.DurationField(null=True, blank=True)
    opens = models.TimeField(null=True, blank=True)
    is_free = models.BooleanField(default=False)
    topics = ArrayField(models.CharField(max_length=50), default=list, blank=True)
    venue = EmbeddedModelField(Venue, null=True, blank=True)
    acts = EmbeddedModelArrayField(Venue, null=True, blank=True)
    speaker = NodeField(null=True, blank=True)
    extra = models.JSONField(null=True, blank=True)


class Talk(Happening):
    """Another type with the same base class."""


class Unregistered(Page):
    """A class without @register."""


@pytest.fixture(autouse=True)
def _types():
    with registered(Event, Talk, Concert, Season):
        yield


def event(slug: str, **fields):
    details = {name: fields.pop(name) for name in [*fields] if name not in ("parent", "published", "tags", "title")}
    return node("event", slug, **fields, **{f"detail.{name}": value for name, value in details.items()})


def slugs(query) -> list[str]:
    return [found.node.metadata.slug for found in query]


def test_results_are_instances_of_the_type_with_their_page(mongo):
    speaker = node(slug="bea", title="Bea")
    section = node("folder", "events")
    event(
        "tea",
        parent=section,
        title="Tea & cake",
        text="Come all.",
        starts=START,
        venue={"city": "Bern", "seats": 9},
        acts=[{"city": "Thun"}],
        speaker=speaker,
        topics=["tea"],
        price=Decimal("7.50"),
    )
    found = Event.live.first()
    assert isinstance(found, Event)
    assert (found.url, found.title, str(found)) == ("/events/tea", "Tea & cake", "Tea & cake")
    assert (found.starts, found.venue.city, found.price, found.topics) == (START, "Bern", Decimal("7.50"), ["tea"])
    assert isinstance(found.acts[0], Venue)
    assert found.text == "Come all."
    assert found.speaker == speaker
    assert isinstance(found.node, Node)
    page = stored_nodes.find(section, "tea").metadata.detail
    assert (page.url, page.title, page.acts) == (found.url, found.title, found.acts)
    assert (Event().url, Event().title) == ("", "")


def test_methods_of_django_name_the_queries_and_actions(mongo):
    for read in (Event.objects.all, Event.objects.first, Event.objects.filter):
        with pytest.raises(NotSupportedError, match=r"Event\.live or Event\.visible_to\(user\)"):
            read()
    for write in (Event.objects.create, Event().save, Event().delete):
        with pytest.raises(NotSupportedError, match="Event can't be written directly.*CreateNode and SaveNode"):
            write()


def test_all_returns_the_query_without_cached_results(mongo):
    event("tea")
    query = Event.live.filter(slug="tea")
    assert slugs(query.all()) == slugs(query) == ["tea"]
    trash.trash(EDITOR, query[0].node.pk, query[0].node.metadata.nonce)
    assert slugs(query) == ["tea"]
    assert slugs(query.all()) == []


def test_only_public_pages_are_returned(mongo):
    """Visibility follows the same rule as in all public lists."""
    hidden = node("folder", "hidden")
    below = node("folder", "below", parent=hidden)
    expired = node("folder", "expired")
    event("public")
    event("draft", published=None)
    event("future", published=now() + DAY)
    gone = event("gone")
    save(gone, nonce(gone), expires=now() - DAY)
    event("inside", parent=below)
    event("old", parent=expired)
    trashed = node("folder", "trashed")
    event("lost", parent=trashed)
    for section, change in ((hidden, {"published": None}), (expired, {"expires": now() - DAY})):
        save(section, nonce(section), **change)
    mongo["cms.nodes"].delete_one({"_id": trashed})
    tree.clear()
    node(slug="page")
    assert slugs(Event.live) == ["public"]
    assert Event.live.count() == 1
    listed = stored_nodes.nodes_of_type(tree.current(), "event", now(), size=50)
    assert slugs(Event.live) == [found.metadata.slug for found in listed.nodes]


def test_scheduled_changes_that_are_due_are_shown(mongo):
    node_id = event("tea", hall="Small")
    draft = drafts.save_draft(EDITOR, node_id, nonce(node_id), {"detail.hall": "Large"})
    drafts.schedule(EDITOR, node_id, draft.nonce, now() + DAY)
    mongo["cms.nodes"].update_one({"_id": node_id}, {"$set": {"draft.due": now() - DAY}})
    assert [found.hall for found in Event.live] == ["Large"]


# Conditions, and the slugs of the pages that match them.
FOUND = [
    ({"starts": START}, "b"),
    ({"starts__exact": START.isoformat()}, "b"),
    ({"starts__gte": START}, "bc"),
    ({"starts__gt": START}, "c"),
    ({"starts__lt": START}, "a"),
    ({"starts__lte": "2030-05-01T19:00Z"}, "ab"),
    ({"starts__gte": date(2030, 5, 2)}, "c"),
    ({"starts__gte": "2030-05-02"}, "c"),
    ({"starts__range": (START - DAY, START)}, "ab"),
    ({"starts__in": [START, START + DAY]}, "bc"),
    ({"starts__isnull": True}, "d"),
    ({"starts": None}, "d"),
    ({"starts__isnull": False}, "abc"),
    ({"hall": "Small"}, "ab"),
    ({"hall__in": {"Small", "Large"}}, "abc"),
    ({"hall__in": []}, ""),
    ({"hall__gt": "Large", "starts__lt": START}, "a"),
    ({"on": "2030-05-01"}, "a"),
    ({"on__gte": date(2030, 5, 2)}, "b"),
    ({"price__lt": Decimal("7.505")}, "a"),
    ({"price": "7.5"}, "a"),
    ({"places__gte": "5"}, "b"),
    ({"rating__gt": 1}, "a"),
    ({"lasts__gte": timedelta(hours=2)}, "b"),
    ({"opens__lt": "12:00"}, "a"),
    ({"is_free": True}, "c"),
    ({"topics__contains": "tea"}, "ab"),
    ({"topics__contains": ["tea", "cake"]}, "b"),
    ({"topics__isnull": True}, ""),
    ({"venue__city": "Bern"}, "a"),
    ({"venue__seats__gte": 10}, "b"),
    ({"venue__isnull": True}, "cd"),
    ({"title": "A"}, "a"),
    ({"slug__in": ["a", "c"]}, "ac"),
    ({"published__lte": datetime(2020, 1, 1, tzinfo=UTC)}, "abcd"),
    ({"published__gt": datetime(2020, 1, 1, tzinfo=UTC)}, ""),
]


def test_lookups_compare_typed_values(mongo):
    event(
        "a",
        starts=START - DAY,
        hall="Small",
        topics=["tea"],
        venue={"city": "Bern", "seats": 9},
        on=date(2030, 5, 1),
        price="7.5",
        rating=1.5,
        lasts=timedelta(hours=1),
        opens="09:00",
    )
    event(
        "b",
        starts=START,
        hall="Small",
        topics=["tea", "cake"],
        venue={"city": "Thun", "seats": 10},
        on=date(2030, 5, 2),
        price="8",
        places=5,
        lasts=timedelta(hours=2),
        opens="18:00",
    )
    event("c", starts=START + DAY, hall="Large", is_free=True)
    event("d")
    for conditions, expected in FOUND:
        query = Event.live.filter(**conditions).order_by("slug")
        assert "".join(slugs(query)) == expected, conditions
        assert query.count() == len(expected), conditions
        assert query.exists() is bool(expected), conditions


def test_ids_and_instances_are_values_of_node_fields(mongo):
    speaker = node(slug="bea")
    event("a", speaker=speaker)
    b = event("b")
    for value in (speaker, str(speaker), stored_nodes.get(speaker)):
        assert slugs(Event.live.filter(speaker=value)) == ["a"]
    assert slugs(Event.live.filter(pk=b)) == ["b"]
    assert slugs(Event.live.filter(id__in=Event.live.filter(slug="b"))) == ["b"]
    assert slugs(Event.live.in_bulk([b, ObjectId()]).values()) == ["b"]


@pytest.mark.parametrize(
    ("lookup", "message"),
    [
        ("colour", "Event has no field “colour”. Fields: text, "),
        ("colour__gte", "Event has no field “colour”."),
        (
            "hall__icontains",
            "“hall__icontains” isn't supported. Lookups for “hall”: exact, in, gt, gte, lt, lte, range,",
        ),
        ("hall__contains", "“hall__contains” isn't supported."),
        ("hall__regex", "Lookups for “hall”: exact, in"),
        ("starts__year", "Lookups for “starts”: exact, in"),
        ("topics", "“topics” isn't supported. Lookups for “topics”: contains, isnull."),
        ("topics__in", "Lookups for “topics”: contains, isnull."),
        ("venue", "Lookups for “venue”: isnull."),
        ("venue__street", "Lookups for “venue”: isnull."),
        ("venue__city__regex", "Lookups for “venue__city”: exact, in"),
        ("acts__city", "Lookups for “acts”: isnull."),
        ("extra__a", "Lookups for “extra”: isnull."),
        ("starts__gte__lt", "Lookups for “starts”: exact, in"),
        ("$where", "Event has no field “$where”."),
        ("metadata.published", "Event has no field “metadata.published”."),
        ("", "Event has no field “”."),
    ],
)
def test_unknown_fields_and_lookups_name_the_known_ones(lookup, message):
    with pytest.raises(FieldError) as error:
        Event.live.filter(**{lookup: "x"})
    assert message in str(error.value)


HOSTILE = ({"$gt": ""}, {"$ne": None}, [{"$gt": ""}], ["x"], "\x00", "\ud800", {"a": 1}, {"$gt"})


@pytest.mark.parametrize(
    "field", ["hall", "starts", "places", "price", "is_free", "speaker", "on", "lasts", "venue__city"]
)
def test_value_never_becomes_an_operator(field):
    for value in HOSTILE:
        for name, given in ((field, value), (f"{field}__gte", value), (f"{field}__in", [value])):
            with pytest.raises(ValidationError):
                Event.live.filter(**{name: given})


@pytest.mark.parametrize(
    "conditions",
    [
        *({"starts": value} for value in ("", "soon", "2030-99-99", "99999-01-01", 10**30)),
        *({"places": value} for value in ("", "x", 2**70, "9" * 5000)),
        *({"rating": value} for value in ("nan", float("inf"))),
        *({"price": value} for value in ("NaN", "x", "1" * 50)),
        *({"speaker": value} for value in ("", "x", 5)),
        *({"starts__isnull": value} for value in ("1", 0, None)),
        *({"starts__in": value} for value in (START, "x", None, {"$gt": ""})),
        *({"starts__range": value} for value in ((START,), (START, None), "ab", 5)),
        {"starts__gte": None},
        {"topics__contains": {"$gt": ""}},
        {"topics__contains": [{"$gt": ""}]},
        {"topics__contains": None},
    ],
    ids=repr,
)
def test_values_that_the_field_rejects_raise_validation_error(conditions):
    with pytest.raises(ValidationError):
        Event.live.filter(**conditions)


def test_sections_limit_results(mongo):
    outer = node("folder", "outer")
    inner = node("folder", "inner", parent=outer)
    for slug, parent in (("a", None), ("b", outer), ("c", inner)):
        event(slug, parent=parent)
    query = Event.live.order_by("slug")
    assert slugs(query.in_section(outer)) == ["b"]
    assert slugs(query.in_section(stored_nodes.get(outer))) == ["b"]
    assert slugs(query.in_section(stored_nodes.get(outer).metadata.detail)) == ["b"]
    assert slugs(query.in_section(outer, include_subsections=True)) == ["b", "c"]
    assert slugs(query.in_section(None)) == ["a"]
    assert slugs(query.in_section(None, include_subsections=True)) == ["a", "b", "c"]
    assert slugs(query.in_section(ObjectId())) == []
    save(outer, nonce(outer), published=None)
    assert slugs(query.in_section(inner)) == []
    with pytest.raises(TypeError):
        query.in_section({"$gt": ""})


def test_tags_and_facets_limit_results(mongo):
    event("a", tags=("tea", "cake"), hall="Small", topics=["x", "y"], is_free=True)
    event("b", tags=("tea",), hall="Small", topics=["x"])
    event("c", hall="Large")
    query = Event.live.order_by("slug")
    assert slugs(query.tagged("tea")) == ["a", "b"]
    assert slugs(query.tagged("tea").tagged("cake")) == ["a"]
    assert slugs(query.with_facets(hall="Small")) == ["a", "b"]
    assert slugs(query.with_facets(hall="Small", topics=["x", "y"])) == ["a"]
    assert slugs(query.with_facets(is_free=True)) == slugs(query.with_facets(is_free="true")) == ["a"]
    with pytest.raises(FieldError, match="“starts” isn't a facet of Event. Facets: hall, topics, is_free."):
        query.with_facets(starts=START)
    for refused in ({"$gt": ""}, None):
        with pytest.raises(ValidationError):
            query.tagged(refused)
        with pytest.raises(ValidationError):
            query.with_facets(hall=refused)


def test_results_are_sorted_and_newest_first_by_default(mongo):
    for number, slug in enumerate("abc"):
        event(
            slug, published=START - (20 + number) * 365 * DAY, hall="xyx"[number], starts=START if slug == "a" else None
        )
    assert slugs(Event.live) == ["a", "b", "c"]
    assert slugs(Event.live.order_by("published")) == ["c", "b", "a"]
    assert slugs(Event.live.order_by("hall", "-slug")) == ["c", "a", "b"]
    assert slugs(Event.live.order_by("hall", "-slug").order_by()) == ["a", "b", "c"]
    assert slugs(Event.live.order_by("starts", "slug")) == ["b", "c", "a"]
    assert slugs(Event.live.order_by("-starts", "slug")) == ["a", "b", "c"]
    for name in ("topics", "venue", "extra", "acts", "hall__gte"):
        with pytest.raises(FieldError, match=f"can't be sorted by “{name}”"):
            Event.live.order_by(name)
    with pytest.raises(FieldError, match="no field “colour”"):
        Event.live.order_by("-colour")


def test_each_evaluation_sends_one_command(mongo, commands):
    for number in range(5):
        event(f"event-{number}", starts=START + number * DAY, tags=("tea",))
    stored_site.begin_request()
    tree.current()
    query = Event.live.filter(starts__gte=START + DAY).tagged("tea").order_by("starts")
    cursor = query.page(size=1).next
    evaluations = {
        "list": lambda: list(query[:3]),
        "all": lambda: list(query.filter()),
        "bool and loop": lambda: [item for shared in [query[:3]] if shared for item in shared],
        "index": lambda: query[2],
        "first": query.first,
        "count": query.count,
        "count slice": query[:2].count,
        "exists": query.exists,
        "page": lambda: query.page(size=2),
        "later page": lambda: query.page(cursor, size=2),
        "in bulk": lambda: query.in_bulk([ObjectId()]),
        "editor": lambda: list(Event.visible_to(User(is_staff=True, is_superuser=True, is_active=True))[:3]),
    }
    try:
        for name, evaluate in evaluations.items():
            with commands.recorded():
                evaluate()
            assert len(commands) == 1, (name, commands.names)
        with commands.recorded():
            query.filter(hall="x").in_section(None).order_by("-starts")[:5]
            assert list(query[:0]) == [] == list(query[:3][:0])
            assert query[:0].count() == 0
            assert not query[:0].exists()
        assert len(commands) == 0
    finally:
        stored_site.forget()


def test_large_slices_need_one_command(mongo, commands):
    rows = [event("event-0")]
    document = mongo["cms.nodes"].find_one({"_id": rows[0]})
    copies = [
        document | {"_id": ObjectId(), "metadata": document["metadata"] | {"slug": f"copy-{n}"}} for n in range(250)
    ]
    mongo["cms.nodes"].insert_many(copies)
    stored_site.begin_request()
    try:
        tree.current()
        for query, number in ((Event.live[:200], 200), (Event.live[:251], 251), (Event.live.order_by("slug"), 251)):
            with commands.recorded():
                assert len(query) == number
            assert commands.names == ["find"]
    finally:
        stored_site.forget()


def test_slices_and_indexes(mongo):
    for slug in "abc":
        event(slug)
    query = Event.live.order_by("slug")
    assert slugs(query[:2]) == slugs(query[0:2]) == ["a", "b"]
    assert slugs(query[:5][:1]) == slugs(query[:1][:5]) == ["a"]
    assert slugs(query[:]) == ["a", "b", "c"]
    assert query[1].node.metadata.slug == "b"
    assert query[:1].first().node.metadata.slug == "a"
    assert query[:2].count() == 2
    assert Event.live.filter(hall="none").first() is None
    with pytest.raises(IndexError):
        query[3]
    with pytest.raises(ValueError, match="page"):
        query[1:2]
    for key in (-1, slice(None, -1), slice(None, None, 2)):
        with pytest.raises(ValueError):
            query[key]
    for change in (
        lambda q: q.filter(slug="a"),
        lambda q: q.order_by("slug"),
        lambda q: q.tagged("a"),
        lambda q: q.page(),
    ):
        with pytest.raises(TypeError, match="sliced"):
            change(query[:1])


VALUES = {
    "starts": [None, None, START, START, START + timedelta(milliseconds=1)],
    "hall": ["", "a,b", "a,b", "é=%", "z"],
    "price": [None, "1.00", "1.10", "1.10", "20"],
    "places": [-5, 0, 3, 3, 10],
    "rating": [None, -0.5, 1e-9, 0.1, 0.3],
    "lasts": [None, timedelta(0), timedelta(hours=1), timedelta(hours=1), timedelta(days=3, milliseconds=5)],
    "opens": [None, "00:00", "09:30", "09:30", "23:59:59"],
    "on": [None, None, date(2030, 1, 1), date(2030, 1, 2), date(2030, 1, 2)],
    "is_free": [False, False, True, True, True],
}


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    "names", [*VALUES, *(f"-{name}" for name in VALUES), "published", "-title", "id", ("hall", "-places")]
)
def test_pages_follow_each_other_in_both_directions(mongo, names):
    for number in range(5):
        event(f"e{number}", **{name: values[number] for name, values in VALUES.items()})
    query = Event.live.order_by(*([names] if isinstance(names, str) else names))
    everything = slugs(query)
    assert len(everything) == 5
    for size in (1, 2, 4, 5):
        page = query.page(size=size)
        assert page.previous == ""
        seen, pages = slugs(page), [slugs(page)]
        while page.next:
            page = query.page(page.next, size=size)
            pages.append(slugs(page))
            seen += slugs(page)
        assert seen == everything
        while page.previous:
            pages.pop()
            page = query.page(page.previous, size=size)
            assert slugs(page) == pages[-1]
        assert len(pages) == 1
        assert quote(page.next, safe="") == page.next


@pytest.mark.parametrize("cursor", ["x", "é", "PA", "Pg", "=" * 9, "\x00", "W10", "a" * 10_000, "Pix7fSx7fQ"])
def test_invalid_cursors_raise_value_error(mongo, cursor):
    event("a", starts=START)
    with pytest.raises(ValueError):
        Event.live.order_by("starts").page(cursor)


@pytest.mark.parametrize("side", ["<", ">"])
@pytest.mark.parametrize("order", ["starts", "-starts", "title", "id"])
def test_cursor_without_an_id_is_invalid(mongo, side, order):
    event("a", starts=START)
    for count in (1, 2, 3):
        with pytest.raises(ValueError):
            Event.live.order_by(order).page(urlsafe_b64encode(f"{side}{',' * count}".encode()).decode())


def test_cursor_of_another_order_or_with_another_value_is_invalid(mongo):
    event("a", starts=START, hall="x")
    event("b", starts=START, hall="y")
    cursor = Event.live.order_by("hall").page(size=1).next
    with pytest.raises(ValueError):
        Event.live.order_by("starts").page(cursor)
    with pytest.raises(ValueError):
        Event.live.order_by("hall", "starts").page(cursor)


def test_users_see_public_pages_and_what_they_see_in_the_admin(mongo):
    def user(name, *permissions, **fields):
        created = User.objects.create_user(name, is_staff=fields.pop("is_staff", True), **fields)
        created.user_permissions.set(Permission.objects.filter(codename__in=permissions))
        return User.objects.get(pk=created.pk)

    author = user("author", "add_node", "change_node")
    event("public")
    event("draft", published=None)
    hidden = node("folder", "hidden", published=None)
    event("inside", parent=hidden)
    mine = event("mine", published=None)
    mongo["cms.nodes"].update_one({"_id": mine}, {"$set": {"metadata.author": {"_id": author.pk, "name": "A"}}})
    everything = ["draft", "inside", "mine", "public"]

    def seen(user) -> list[str]:
        return slugs(Event.visible_to(user).order_by("slug"))

    assert seen(author) == ["mine", "public"]
    assert seen(user("editor", "publish_node")) == everything
    assert seen(user("viewer", "view_node")) == everything
    assert seen(user("reader", "publish_node", "change_node", is_staff=False)) == ["public"]
    assert seen(user("inactive", "publish_node", is_active=False)) == ["public"]
    assert seen(user("staff")) == ["public"]
    assert seen(AnonymousUser()) == seen(None) == ["public"]
    assert Event.visible_to(author).filter(slug="draft").first() is None
    assert slugs(Event.visible_to(author).in_section(hidden)) == []


def test_pages_stored_before_a_field_was_added_are_found_by_its_default(mongo):
    event("new", places=3, is_free=True, hall="x")
    event("default")
    old = event("old")
    fields = ("places", "is_free", "hall", "price", "topics")
    mongo["cms.nodes"].update_one({"_id": old}, {"$unset": {f"metadata.detail.{name}": "" for name in fields}})

    def found(**conditions):
        return slugs(Event.live.filter(**conditions).order_by("slug"))

    for conditions in ({"places": 0}, {"is_free": False}, {"hall": ""}, {"places__in": [0, 1]}, {"price": None}):
        expected = ["default", "new", "old"] if conditions == {"price": None} else ["default", "old"]
        assert found(**conditions) == expected, conditions
    assert found(places=3) == found(places__in=[3, 4]) == found(is_free=True) == ["new"]


def test_public_queries_record_dependencies_and_queries_of_users_are_not_cached(mongo):
    event("a")
    with watch_reads() as reads, dependencies.recorded() as recorded:
        list(Event.live)
        Event.live.count()
        Event.live.exists()
    assert not reads.has_untracked
    assert recorded.texts
    assert recorded.slots
    with watch_reads() as reads, dependencies.recorded() as recorded:
        list(Concert.live)
    assert not recorded.texts  # All changes of types with a date field update lists.
    with watch_reads() as reads:
        list(Event.visible_to(AnonymousUser()))
    assert reads.has_untracked


def test_saves_are_seen_at_once(mongo):
    node_id = event("a", hall="x")
    assert Event.live.filter(hall="y").count() == 0
    editing.save(Actor(None, "Bea"), node_id, nonce(node_id), {"detail.hall": "y"})
    assert Event.live.filter(hall="y").count() == 1


def test_base_class_finds_pages_of_all_its_types(mongo):
    event("a", starts=START)
    node("talk", "b", **{"detail.starts": START + DAY})
    found = list(Happening.live.filter(starts__gte=START).order_by("starts"))
    assert [type(item) for item in found] == [Event, Talk]
    assert slugs(Event.live) == ["a"]
    node("folder", "folder")
    assert "folder" in slugs(Content.live)
    with pytest.raises(TypeError, match="Unregistered isn't a registered content type"):
        list(Unregistered.live)
    with pytest.raises(FieldError, match="Happening has no field “hall”"):
        Happening.live.filter(hall="x")


def test_sections_and_photos_can_be_queried(mongo):
    season = node("season", "spring")
    node("concert", "opening", parent=season, **{"detail.starts": START})
    assert slugs(Season.live) == ["spring"]
    assert slugs(Concert.live.in_section(Season.live.first())) == ["opening"]
    upload(gallery("lakes"), name="lake.jpg", title="Lake")
    photo = PhotoContent.live.filter(title="Lake").first()
    assert isinstance(photo, PhotoContent)
    assert photo.url == "/lakes/lake"


def test_damaged_documents_are_skipped(mongo):
    damaged = event("a")
    event("b")
    mongo["cms.nodes"].update_one(
        {"_id": damaged}, {"$set": {"metadata.detail.hall": 5}}, bypass_document_validation=True
    )
    assert slugs(Event.live) == ["b"]


@pytest.mark.parametrize(
    "filtered",
    [
        lambda: Node.objects.filter(hall="x"),
        lambda: Node.objects.exclude(hall="x"),
        lambda: Node.objects.filter(Q(hall="x")),
        lambda: Node.objects.filter(metadata__hall="x"),
        lambda: Node.objects.filter(metadata__detail__hall="x"),
        lambda: Node.objects.order_by("-hall"),
    ],
)
def test_node_manager_names_the_query_for_fields_of_types(filtered):
    with pytest.raises(FieldError, match=r"“hall” is a field of the content type Event. Use Event.live.filter\(…\)"):
        filtered()


def test_node_manager_keeps_errors_about_other_fields(mongo):
    with pytest.raises(FieldError, match="Cannot resolve keyword 'nonsense' into field"):
        Node.objects.filter(nonsense="x")
    event("a")
    assert Node.objects.filter(metadata__slug="a").exclude(metadata__slug="b").order_by("pk").count() == 1
