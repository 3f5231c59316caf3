"""axe-core finds no accessibility problem on any page, in light and dark mode, on a desktop and on a phone."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib import admin
from django.urls import URLPattern, URLResolver, resolve
from playwright.sync_api import Page, expect

from cms.testing.build import PAST, node
from nodes.services.site import save_settings
from tests.browser import admin_pages, pages
from tests.browser.axe import RUN
from tests.browser.people import DESKTOP, PHONE
from tests.support.nodes.content import Chapter, Handbook, registered
from tests.support.nodes.photo_build import gallery, upload


@pytest.fixture
def site(mongo, rules) -> pages.Site:
    return pages.build()


def barriers(page: Page, axe: str, scenes: dict[str, Callable[..., Any]], site: pages.Site) -> list[str]:
    """Return the problems that axe-core finds on each page, in light and dark mode."""
    found = []
    for name, go in scenes.items():
        go(page, site)
        page.evaluate(axe)
        page.wait_for_load_state("load")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found += [f"{name}, {scheme}: {barrier}" for barrier in page.evaluate(RUN)]
    return found


@pytest.fixture
def looking(browsing) -> Callable[..., Page]:
    """Create pages without their security policy, because axe-core tries inline styles.

    Other tests check the policy.
    """
    return lambda *user, **options: browsing(*user, bypass_csp=True, **options)


@pytest.mark.slow
def test_reader_pages_are_accessible(looking, axe, site):
    assert barriers(looking(), axe, pages.READERS, site) == []


@pytest.mark.slow
def test_reader_pages_are_accessible_on_a_phone(looking, axe, site):
    chosen = (
        "home",
        "inserts",
        "post with threaded comments",
        "reply form",
        "gallery",
        "photo",
        "search results",
        "404",
        "all tags",
        "author page",
    )
    scenes = {name: pages.READERS[name] for name in chosen}
    assert barriers(looking(viewport=PHONE), axe, scenes, site) == []


@pytest.mark.slow
def test_printed_pages_are_accessible(looking, axe, site):
    page = looking()
    page.emulate_media(media="print")
    scenes = {name: pages.READERS[name] for name in ("home", "typography", "inserts", "gallery", "photo", "discussion")}
    assert barriers(page, axe, scenes, site) == []


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_documentation_pages_are_accessible(looking, axe, site, viewport):
    save_settings({"theme": "documentation"}, {"theme": "magazine"})
    page = looking(viewport=viewport)
    assert barriers(page, axe, pages.DOCUMENTATION, site) == []
    pages.READERS["page"](page, site)
    here = page.locator(".sidebar a[aria-current=page]")
    # The preview is open beside the text, and folded above it on narrow screens.
    if viewport == PHONE:
        expect(here).to_be_hidden()
        page.locator(".sidebar summary").click()
    expect(here).to_have_text("Start here")
    expect(here).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    pages.READERS["inserts"](page, site)
    photo, text = (page.locator(part).bounding_box() for part in (".insert-photo.full", ".prose"))
    assert (photo["x"], photo["width"]) == (text["x"], text["width"])


@pytest.mark.slow
def test_dashboard_is_accessible(looking, account, axe, site):
    assert barriers(looking(account("ann")), axe, {"dashboard": pages.EDITORS["admin start"]}, site) == []


@pytest.mark.slow
def test_photo_chooser_and_box_of_a_photo_are_accessible(looking, account, axe, site):
    photo = upload(gallery(), fields={"title": "Lake", "published": PAST})
    text = node(text=f"![Mist](photo:{photo})")

    def show_box(page, _site):
        page.goto(f"/admin/nodes/node/{text}/change/")
        page.locator(".md-figure img").click()
        expect(page.get_by_role("toolbar", name="Photo")).to_be_visible()

    def open_chooser(page, site):
        show_box(page, site)
        page.locator(".tool-photo").click()
        page.get_by_role("checkbox", name="Lake", exact=True).click()

    scenes = {"box of a photo": show_box, "photo chooser": open_chooser}
    assert barriers(looking(account("ann")), axe, scenes, site) == []


# Routes of the admin without a page of their own.
NO_PAGE = {
    # The site's own login page is tested with the readers' pages.
    "login",
    # Data and fragments for scripts.
    "autocomplete",
    "jsi18n",
    "nodes_node_choose",
    "nodes_node_propose_slug",
    "nodes_node_show_typed",
    "nodes_node_tags",
    "nodes_node_pick_photos",
    "nodes_node_link_to",
    "nodes_node_targets",
    "nodes_node_preview_frame",
    # A redirect to the Dashboard.
    "app_list",
    # Routes that accept POST and redirect.
    "logout",
    "None",
    "nodes_node_undo",
    "nodes_node_keep_typed",
    "nodes_node_presence",
    "nodes_node_discard_typed",
    "nodes_node_preview_link",
    "nodes_photo_upload",
    "nodes_photo_replace",
    "nodes_photo_go_back",
    "nodes_photo_trash",
    "nodes_file_upload",
    "nodes_file_replace",
    "nodes_file_go_back",
    "nodes_file_trash",
    "marginalia_comments_moderation_decide",
    "marginalia_comments_moderation_lift",
    "auth_user_invitation",
    "nodes_sitesettings_preview",
    "redirect_delete",
    "import_piece",
    "import_start",
    "import_delete",
    # Nobody has access, because stored comments are read-only.
    *(
        f"marginalia_comments_stored{what}_{act}"
        for what in ("discussion", "comment", "bucket")
        for act in ("add", "delete")
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_every_admin_page_is_accessible(looking, account, axe, site, viewport):
    page, seen = looking(account("ann"), viewport=viewport), set()
    page.on("framenavigated", lambda frame: seen.add(urlsplit(frame.url).path))
    with registered(Handbook, Chapter):
        admin_pages.prepare(site)
        assert barriers(page, axe, admin_pages.ADMIN, site) == []
    shown = {resolve(path).url_name for path in seen if path.startswith("/admin/")}
    assert {str(route.name) for route in _routes(admin.site.get_urls())} - shown == NO_PAGE


def _searching(page: Page, site: pages.Site) -> None:
    page.goto("/admin/jobs/")
    page.keyboard.press("/")
    page.keyboard.type("hel")
    expect(page.locator("#search-dialog li").first).to_be_visible()


def _selecting(page: Page, site: pages.Site) -> None:
    page.goto("/admin/nodes/node/?state=live&tag=paper")
    page.locator(".action-select").first.check()
    page.locator(".list-fold > summary").click()


def _opening_more(page: Page, site: pages.Site) -> None:
    page.goto("/admin/nodes/node/")
    page.get_by_role("button", name="More").click()


def _tab(name: str) -> Callable[[Page, pages.Site], None]:
    def go(page: Page, site: pages.Site) -> None:
        page.goto("/admin/nodes/sitesettings/")
        page.get_by_role("tab", name=name).click()

    return go


@pytest.mark.slow
def test_open_parts_of_the_admin_are_accessible(looking, account, axe, site):
    results = {"results": lambda page, site: page.goto("/admin/search/?q=hel")}
    tabs = {name: _tab(name) for name in ("Appearance", "Navigation", "Posts and comments")}
    parts = {"search": _searching, "selected rows": _selecting, **tabs}
    assert barriers(looking(account("ann")), axe, {**parts, **results}, site) == []
    on_phone = {**parts, "more": _opening_more, "form": pages.EDITORS["node form"]}
    assert barriers(looking(account("bob"), viewport=PHONE), axe, on_phone, site) == []


def _routes(patterns: list[Any]) -> Iterator[URLPattern]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns)
        else:
            yield pattern
