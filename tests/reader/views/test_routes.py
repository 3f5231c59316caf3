"""Routes below nodes: URLs, rights, methods, templates, the page cache, the sitemap and the system checks."""

import copy
import re
import warnings
from collections.abc import Mapping
from datetime import timedelta
from inspect import Parameter, Signature

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.template import Context, Template, TemplateDoesNotExist
from django.test import Client
from django.urls import NoReverseMatch

from cms.testing.build import EDITOR, node, nonce, save
from cms.testing.process_caches import clear_caches
from marginalia.mongo.clock import now
from nodes.checks import check_content
from nodes.content import BlogEntry, Page, Section, register, route, routes, unregister
from nodes.models import Node, Photo, stored_site, tree
from nodes.selectors import stored_nodes
from nodes.selectors.routes import MAX_LENGTH
from nodes.services import trash
from nodes.setting_fields import clean_target
from reader import page_cache
from tests.reader.page_cache.changing import CHANGES, FEW_CHANGES, World
from tests.support.nodes.content import registered

FIRST = 2020


class Festival(Section):
    """A section whose pages are also listed by year, and in a calendar file."""

    stands_in = ["folder"]

    @route("calendar", in_sitemap=True)
    @route("calendar/<int:year>", reads="pages", parameters=["month"])
    def calendar(self, request, year=FIRST):
        if year < FIRST:
            raise Http404("There is no calendar for this year.")
        pages = stored_nodes.pages_of(self.node.pk, now())
        return {"year": year, "month": request.GET.get("month", ""), "pages": pages}

    @route("calendar.ics", name="ics", reads="pages")
    def calendar_file(self, request):
        titles = "".join(f"SUMMARY:{page.metadata.title}\r\n" for page in stored_nodes.pages_of(self.node.pk, now()))
        return HttpResponse(titles, content_type="text/calendar")

    @route("sign-up", methods=["GET", "POST"])
    def sign_up(self, request):
        return HttpResponse(f"{request.method} {request.POST.get('name', '')}")

    @route("texts", reads="pages")
    def texts(self, request):
        return HttpResponse("".join(page.metadata.detail.text for page in Node.objects.filter(metadata__type="act")))

    @route("people", reads="pages")
    def people(self, request):
        return HttpResponse(User.objects.count())

    @route("bare")
    def bare(self, request):
        return {}

    @route("nothing", reads="pages")
    def nothing(self, request):
        return None

    def get_context(self, request):
        return {**super().get_context(request), "motto": f"Motto of {self.node}"}


class Act(Page):
    """A page of a festival."""

    stands_in = ["festival", "folder"]

    @route("tickets/<path:kind>", reads="pages")
    def tickets(self, request, kind):
        return HttpResponse(f"{self.node}: {kind}")


def values_of(node):
    metadata = node.metadata
    detail = [getattr(metadata.detail, field.name) for field in metadata.detail._meta.fields]
    return [metadata.slug, metadata.published, metadata.expires, metadata.summary, metadata.tags, detail]


class Digest(Section):
    """A section with routes that read most of the site in different ways."""

    stands_in = ["folder"]

    @route("orm", reads="pages")
    def orm(self, request):
        nodes = [*Node.objects.order_by("pk"), *Photo.objects.filter(metadata__type="photo").order_by("pk")]
        return HttpResponse("\n".join(f"{node} {node.metadata.updated} {values_of(node)}" for node in nodes))

    @route("lists", reads="pages")
    def lists(self, request):
        entries = stored_nodes.newest_entries(tree.current(), now(), size=50).nodes
        return HttpResponse("\n".join(f"{node} {node.blurb} {node.metadata.tags}" for node in entries))

    @route("live", reads="pages")
    def live_posts(self, request):
        return HttpResponse("\n".join(f"{post} {post.url} {post.text}" for post in BlogEntry.live))


TEMPLATES = {
    "nodes/festival-calendar.html": "{% extends 'nodes/base.html' %}{% load content %}{% block more %}"
    "{{ year }} {{ month }} {% for page in pages %}{{ page }} {% endfor %}"
    "<a href=\"{% route_url node 'ics' %}\">File</a>{% endblock %}",
    "nodes/broken.html": "{% if %}",
    "nodes/festival.html": "{% extends 'nodes/base.html' %}{% block more %}{{ motto }}{% endblock %}",
}


@pytest.fixture
def templates(settings):
    changed = copy.deepcopy(settings.TEMPLATES)
    loader = ("django.template.loaders.locmem.Loader", TEMPLATES)
    changed[0]["OPTIONS"]["loaders"] = [loader, *changed[0]["OPTIONS"]["loaders"]]
    settings.TEMPLATES = changed


@pytest.fixture
def festival(mongo, templates):
    """The id of a festival at /fest, with the page /fest/opening."""
    with registered(Festival, Act):
        festival = node("festival", "fest", title="The festival")
        node("act", "opening", parent=festival, title="Opening", text="First words")
        yield festival


def cached() -> list[str]:
    return [key[2] for key in page_cache.storage.cache.entries]


class TestUrls:
    def test_context_is_rendered_with_the_template_of_the_route(self, festival, client):
        html = client.get("/fest/calendar/2026").content.decode()
        assert "2026  Opening" in html
        assert '<a href="/fest/calendar.ics">File</a>' in html
        assert '<link rel="canonical" href="http://testserver/fest/calendar/2026">' in html
        assert '<li><a href="/fest">The festival</a></li>' in html

    def test_response_is_returned_unchanged(self, festival, client):
        response = client.get("/fest/calendar.ics")
        assert (response["Content-Type"], response.content) == ("text/calendar", b"SUMMARY:Opening\r\n")

    def test_extending_type_inherits_routes_and_templates(self, festival, client):
        class Fringe(Festival):
            """A festival with another calendar file."""

            @route("calendar.ics", name="ics", reads="pages")
            def calendar_file(self, request):
                return HttpResponse("Fringe")

        with registered(Fringe):
            node("fringe", "fringe")
            assert f"{FIRST}" in client.get("/fringe/calendar").content.decode()
            assert client.get("/fringe/calendar.ics").content == b"Fringe"
            assert check_content() == []

    def test_method_can_have_several_routes(self, festival, client):
        assert f"{FIRST}  Opening" in client.get("/fest/calendar").content.decode()

    def test_route_of_a_page_receives_its_value(self, festival, client):
        assert client.get("/fest/opening/tickets/one day/child").content == b"Opening: one day/child"

    @pytest.mark.parametrize(
        "path",
        [
            "/fest/calendar/next",
            "/fest/calendar/1999",
            "/fest/calendar.icsx",
            "/fest/calendar.ics/",
            "/fest/opening/calendar.ics",
            "/missing/calendar.ics",
            "/missing/calendar",
            "/calendar.ics",
            "/fest//calendar",
            "/" + "a/" * 500 + "calendar.ics",
        ],
    )
    def test_other_paths_return_404(self, festival, client, path):
        assert client.get(path).status_code == 404

    def test_long_paths_return_404_before_they_are_matched(self, festival, client):
        kind = "a" * (MAX_LENGTH - len("tickets/"))
        assert client.get(f"/fest/opening/tickets/{kind}").status_code == 200
        assert client.get(f"/fest/opening/tickets/{kind}a").status_code == 404

    def test_trailing_slash_and_other_spellings_redirect(self, festival, client):
        for path in ("/fest/calendar/2026/", "/Fest/calendar/2026"):
            response = client.get(f"{path}?month=2")
            assert (response.status_code, response["Location"]) == (301, "/fest/calendar/2026?month=2")

    def test_route_of_a_moved_page_redirects(self, festival, client):
        save(festival, nonce(festival), slug="summer")
        for path in ("calendar.ics", "calendar/2026", "opening/tickets/a%20b"):
            response = client.get(f"/fest/{path}")
            assert (response.status_code, response["Location"]) == (301, f"/summer/{path}")
            assert response["Cache-Control"] == "no-cache"
            assert client.get(f"/summer/{path}").status_code == 200

    def test_page_takes_precedence_until_it_moves(self, festival, client):
        page = node("act", "calendar", parent=festival, title="A page")
        for path in ("/fest/calendar/", "/fest/CALENDAR"):
            assert client.get(path).status_code == 301
        assert "<h1>A page</h1>" in client.get("/fest/calendar").content.decode()
        save(page, nonce(page), slug="moved")
        assert f"{FIRST}  A page Opening" in client.get("/fest/calendar").content.decode()
        trash.trash(EDITOR, page, nonce(page))
        assert f"{FIRST}  Opening" in client.get("/fest/calendar").content.decode()

    def test_urls_are_reversed(self, festival):
        fest = Node.objects.get(pk=festival)
        assert fest.get_route_url("calendar") == "/fest/calendar"
        assert (
            fest.get_route_url("calendar", 2026) == fest.get_route_url("calendar", year=2026) == "/fest/calendar/2026"
        )
        template = Template("{% load content %}{% route_url node 'calendar' year=2026 %}")
        assert template.render(Context({"node": fest})) == "/fest/calendar/2026"
        act = stored_nodes.resolve(tree.current(), "fest/opening", now())
        assert act.get_route_url("tickets", "ä b") == "/fest/opening/tickets/%C3%A4%20b"
        with pytest.raises(NoReverseMatch):
            act.get_route_url("calendar")

    def test_routes_of_the_front_page_begin_with_its_slug(self, mongo, client):
        with registered(Act):
            home = node("act", "home", title="Welcome")
            url = Node.objects.get(pk=home).get_route_url("tickets", "x")
            assert (url, client.get(url).content) == ("/home/tickets/x", b"Welcome: x")

    def test_menu_can_link_to_a_route(self, festival):
        assert clean_target("/fest/calendar/2026") == "/fest/calendar/2026"
        with pytest.raises(ValidationError, match="No public page"):
            clean_target("/fest/calendar/next")

    def test_own_context_is_added_to_the_page(self, festival, client):
        assert "Motto of The festival" in client.get("/fest").content.decode()
        assert "/fest" in cached()

    def test_method_without_a_result_is_an_error(self, festival, client):
        with pytest.raises(TypeError, match="“nothing”.*returned None"):
            client.get("/fest/nothing")

    def test_error_about_a_missing_template_names_the_route_and_the_type(self, festival, client):
        expected = "nodes/festival-bare.html (the template of the route “bare” of Festival)"
        with pytest.raises(TemplateDoesNotExist, match=re.escape(expected)):
            client.get("/fest/bare")


class TestRights:
    """Readers can use a route exactly while they can see its page."""

    @pytest.mark.slow_after(2)
    @pytest.mark.parametrize(
        "dates",
        [
            {"published": None},
            {"published": now() + timedelta(days=1)},
            {"expires": now() - timedelta(seconds=1)},
        ],
        ids=["draft", "scheduled", "expired"],
    )
    def test_routes_of_hidden_nodes_return_404(self, festival, client, dates):
        node("act", "hidden", parent=festival, **dates)
        section = node("festival", "private", **dates)
        node("act", "inside", parent=section)
        for path in ("/fest/hidden/tickets/x", "/private/calendar.ics", "/private/inside/tickets/x"):
            assert client.get(path).status_code == 404
        assert client.get("/fest/opening/tickets/x").status_code == 200

    def test_unpublished_page_takes_its_cached_routes_along(self, festival, client):
        assert client.get("/fest/calendar.ics").status_code == 200
        save(festival, nonce(festival), published=None)
        assert client.get("/fest/calendar.ics").status_code == 404

    def test_page_with_a_missing_type_has_no_routes(self, festival, client):
        act = node("act", "act", parent=node("folder", "folder"))
        assert client.get("/folder/act/tickets/x").status_code == 200
        unregister(Act)
        clear_caches()  # Types are removed only when the site restarts.
        try:
            assert client.get("/folder/act/tickets/x").status_code == 404
        finally:
            register(Act)
        assert Node.objects.get(pk=act).content_type is Act


class TestMethods:
    @pytest.mark.parametrize("method", ["post", "put", "delete", "options"])
    def test_only_declared_methods_are_allowed(self, festival, client, method):
        for path, allowed in (("calendar.ics", "GET, HEAD"), ("opening", "GET, HEAD"), ("sign-up", "GET, POST, HEAD")):
            response = getattr(client, method)(f"/fest/{path}")
            if (method, path) == ("post", "sign-up"):
                assert response.status_code == 200
            else:
                assert (response.status_code, response["Allow"]) == (405, allowed)

    def test_post_is_checked_for_csrf_and_never_cached(self, festival, client):
        assert client.post("/fest/sign-up", {"name": "Ann"}).content == b"POST Ann"
        assert client.get("/fest/sign-up").content == b"GET "
        assert Client(enforce_csrf_checks=True).post("/fest/sign-up", {"name": "Ann"}).status_code == 403
        assert cached() == []

    def test_head_has_the_same_headers(self, festival, client):
        got = client.get("/fest/calendar.ics")
        page_cache.storage.clear()
        for _ in range(2):
            head = client.head("/fest/calendar.ics")
            assert (head.status_code, head.content) == (200, b"")
            assert [head[name] for name in ("ETag", "Content-Type", "Content-Length")] == [
                got[name] for name in ("ETag", "Content-Type", "Content-Length")
            ]
        assert client.get("/fest/calendar.ics").content == got.content


class TestCache:
    @pytest.mark.parametrize("path", ["calendar.ics", "calendar/2026", "calendar/2026?month=2", "texts"])
    def test_declared_route_is_cached_until_a_change(self, festival, client, commands, path):
        first = client.get(f"/fest/{path}")
        with commands.recorded():
            second = client.get(f"/fest/{path}")
        assert len(commands) == 1
        assert (second.content, second["Content-Type"]) == (first.content, first["Content-Type"])
        etag = first["ETag"]
        assert client.get(f"/fest/{path}", headers={"if-none-match": etag}).status_code == 304
        node("act", "closing", parent=festival, title="Closing", text="Last words")
        changed = client.get(f"/fest/{path}", headers={"if-none-match": etag})
        assert changed.status_code == 200
        assert b"Closing" in changed.content or b"Last words" in changed.content

    def test_orm_reads_depend_on_the_text_of_all_pages(self, festival, client):
        opening = stored_nodes.find(festival, "opening").pk
        assert client.get("/fest/texts").content == b"First words"
        client.get("/fest/calendar.ics")
        before = stored_site.read().versions.lists
        save(opening, nonce(opening), **{"detail.seo_description": "Changed"})
        assert stored_site.read().versions.lists == before
        assert client.get("/fest/calendar.ics").wsgi_request.page_cache == "hit"
        assert client.get("/fest/texts").wsgi_request.page_cache == "miss"

    @pytest.mark.parametrize(
        "path",
        [
            "calendar",
            "people",
            "sign-up",
            "calendar/2026?day=2",
            "calendar/2026?from=x",
            "calendar/2026?month=1&month=2",
            "calendar.ics?month=2",
        ],
    )
    def test_other_responses_are_not_cached(self, festival, client, path):
        assert client.get(f"/fest/{path}").status_code == 200
        assert cached() == []

    def test_shared_caches_store_only_declared_routes(self, festival, client):
        assert client.get("/fest/sign-up")["Cache-Control"] == "private, no-cache"
        assert client.get("/fest/calendar.ics")["Cache-Control"] == "no-cache"

    def test_responses_that_depend_on_request_headers_are_not_cached(self, festival, client, monkeypatch):
        def answer(self, request):
            name = request.headers.get("HX-Request", "")
            return HttpResponse(name, headers={name: "HX-Request"} if name == "Vary" else {"Cache-Control": "Private"})

        monkeypatch.setattr(Festival, "people", route("people", reads="pages")(answer))
        for name in ("Vary", ""):
            assert client.get("/fest/people", headers={"HX-Request": name}).content.decode() == name
            assert cached() == []

    def test_query_parameters_are_part_of_the_key_and_the_canonical_url(self, festival, client):
        for month in ("1", "2", "1"):
            html = client.get(f"/fest/calendar/2026?month={month}").content.decode()
            assert f"2026 {month} Opening" in html
            assert f'href="http://testserver/fest/calendar/2026?month={month}"' in html
        assert "?" not in client.get("/fest/calendar/2026?day=1").context["canonical"]

    def test_paths_with_values_are_evicted_first(self, festival, client, monkeypatch):
        """A page whose path also matches a route with values is an ordinary page."""
        monkeypatch.setattr(Festival, "people", route("<slug:name>", reads="pages")(lambda self, request, name: None))
        monkeypatch.setattr(Festival, "declared_routes", routes.declared(Festival))
        for path in ("/fest/calendar.ics", "/fest/opening/tickets/x", "/fest/calendar/2026", "/fest/opening"):
            client.get(path)
        plain = {key[2] for key, entry in page_cache.storage.cache.entries.items() if not entry.is_unbounded}
        assert plain == {"/fest/calendar.ics", "/fest/opening"}

    def test_response_has_the_purge_keys_of_its_pages(self, festival, client, settings):
        settings.CDN_PURGE_URLS = ["http://127.0.0.1:1"]
        for _ in range(2):
            assert client.get("/fest/calendar.ics")["Surrogate-Key"].split() == ["lists", "tags", f"node-{festival}"]
            assert client.get("/fest/texts")["Surrogate-Key"].split() == ["lists", "texts", "tags"]
        for path in ("calendar", "people", "sign-up"):
            assert "Surrogate-Key" not in client.get(f"/fest/{path}").headers

    def test_personal_requests_bypass_the_cache(self, festival, editor):
        assert editor().client.get("/fest/calendar.ics").status_code == 200
        assert cached() == []

    def test_route_sends_few_commands(self, festival, client, commands):
        client.get("/fest")
        with commands.recorded():
            client.get("/fest/calendar.ics")
        assert len(commands) <= 6, commands.names


@pytest.mark.parametrize(
    "changes",
    [FEW_CHANGES, pytest.param(CHANGES, marks=pytest.mark.slow)],
    ids=["few", "all"],
)
def test_cached_routes_equal_fresh_routes_after_any_change(mongo, client, changes):
    world = World()

    def read() -> dict[str, bytes]:
        return {name: client.get(f"/digest/{name}").content for name in ("orm", "lists", "live")}

    with registered(Digest):
        node("digest", "digest")
        read()
        assert len(cached()) == 3
        for name, _scope, change in changes:
            change(world.ids)
            shown = read()
            clear_caches()
            assert read() == shown, name


class TestSitemap:
    def test_flagged_routes_are_listed(self, festival, client):
        found = re.findall(
            "<loc>http://testserver([^<]*)</loc>", client.get("/sitemap-sections-1.xml").content.decode()
        )
        assert [url for url in found if url.startswith("/fest")] == ["/fest", "/fest/calendar"]
        html = client.get("/sitemap-act-1.xml").content.decode()
        assert re.findall("<loc>http://testserver([^<]*)</loc>", html) == ["/fest/opening"]


class TestChecks:
    def found(self, path, *, names=(), result=None, **options):
        """Return the errors for a type with one route, whose method has parameters with these names."""

        def method(self, request): ...

        parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in ("self", "request", *names)]
        method.__signature__ = Signature(parameters)
        method.__annotations__["return"] = result
        declared = route(path, name="shown", **options)(method)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # Each test declares a class with the same name.
            Shown = type(Section)("Shown", (Section,), {"__module__": __name__, "stands_in": ["folder"], "m": declared})
        with registered(Shown):
            return check_content()

    def test_valid_routes_pass(self, festival):
        assert check_content() == []

    @pytest.mark.parametrize(
        ("path", "problem"),
        [
            ("", "never matches"),
            ("/calendar", "never matches"),
            ("calendar/", "never matches"),
            ("a//b", "never matches"),
            ("a?b", "never matches"),
            ("a/" * 8 + "b", "too long"),
            ("<nope:year>", "isn't a valid path"),
            ("feed/<slug:form>", "hidden by a URL of the site"),
            ("feed/ics", "hidden by a URL of the site"),
            ("archive", "hidden by a URL of the site"),
            ("archive/<int:year>", "hidden by a URL of the site"),
        ],
    )
    def test_unreachable_routes_fail(self, path, problem):
        (error,) = self.found(path)
        assert (error.id, problem in error.msg) == ("nodes.E040", True)

    def test_hidden_routes_fail(self):
        class Hiding(Section):
            stands_in = ["folder"]

            @route("<slug:name>")
            def any(self, request, name): ...

            @route("calendar")
            def calendar(self, request): ...

        with registered(Hiding):
            (error,) = check_content()
        assert (error.id, "“calendar”" in error.msg) == ("nodes.E040", True)
        assert "hidden by the route “<slug:name>”" in error.msg

    @pytest.mark.parametrize(
        ("path", "options", "problem"),
        [
            ("a/<int:year>", {}, "doesn't match the parameters of its method"),
            ("a", {"methods": ["PUT"]}, "can't have the methods"),
            ("a", {"methods": []}, "can't have the methods"),
            ("a", {"reads": "all"}, "can't declare reads='all'"),
            ("a", {"methods": ["GET", "POST"], "reads": "pages"}, "accepts POST"),
        ],
    )
    def test_invalid_options_fail(self, path, options, problem):
        (error,) = self.found(path, **options)
        assert (error.id, problem in error.msg) == ("nodes.E041", True)

    @pytest.mark.parametrize(
        ("path", "is_slow"),
        [
            ("<str:a>-<b>-<slug:c>", True),
            ("<path:a>/<path:b>/<c>", True),
            ("<path:a>/<b>-<c>", True),
            ("<a>-<b>", False),
            ("<a>/<b>/<c>", False),
            ("<int:a>-<int:b>-<int:c>", False),
            ("<path:a>/<int:b>/<int:c>", False),
        ],
    )
    def test_routes_that_match_slowly_fail(self, path, is_slow):
        errors = self.found(path, names=["a", *("b",) * ("b>" in path), *("c",) * ("c>" in path)])
        assert [error.id for error in errors] == ["nodes.E043"] * is_slow

    def test_sitemap_route_with_values_fails(self):
        (error,) = self.found("a/<int:year>", names=["year"], in_sitemap=True)
        assert (error.id, "can't be in the sitemap" in error.msg) == ("nodes.E041", True)

    @pytest.mark.parametrize("result", [dict, dict[str, int], Mapping[str, int], HttpResponse | dict, "dict[str, int]"])
    def test_missing_template_of_a_context_fails(self, result):
        (error,) = self.found("a", result=result)
        assert error.id == "nodes.E042"
        assert error.msg.endswith("Shown needs the template “nodes/shown-shown.html”, which doesn't exist.")

    @pytest.mark.parametrize("result", [None, HttpResponse, str, "Unknown"])
    def test_route_that_returns_a_response_needs_no_template(self, result):
        assert self.found("a", result=result) == []

    def test_declared_template_must_exist_and_be_valid(self, templates):
        for name, problem in (("nodes/none.html", "which doesn't exist"), ("nodes/broken.html", "which is invalid: ")):
            (error,) = self.found("a", template=name)
            assert (error.id, f"“{name}”, {problem}" in error.msg) == ("nodes.E042", True)
        assert self.found("a", template="nodes/festival-calendar.html") == []


class TestDeclaration:
    def test_routes_are_inherited_and_can_be_overridden(self):
        class Dated(Page):
            class Meta:
                abstract = True

            @route("one")
            def one(self, request): ...

            @route("two")
            def two(self, request): ...

        class Show(Dated):
            @route("uno")
            def one(self, request): ...

            two = None

        assert [(found.path, found.attribute) for found in Show.declared_routes] == [("uno", "one")]
