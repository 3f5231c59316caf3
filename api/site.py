"""Endpoints for the site and its navigation: public settings, the menu, the section tree, tags and authors."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from pydantic import Field

from api.http import responses
from api.http.routing import Router
from api.schemas.shapes import Id, Shape
from marginalia.mongo.clock import now
from nodes import links
from nodes.models import stored_site
from nodes.models import tree as sections_tree
from nodes.selectors import stored_tags
from reader.selectors import bylines, menus, tag_counts

router = Router(tags=["Site"])


class Link(Shape):
    """A link in the menu, in the footer, or to a social media profile.

    `node` is the page or section that the link points to, or null for other targets.
    """

    title: str
    url: str
    node: Id | None


class Site(Shape):
    """The site's public settings."""

    name: str
    tagline: str
    language: str
    time_zone: str
    url: str
    posts_per_page: int
    menu: list[Link]
    footer: str
    footer_links: list[Link]
    social: list[Link]


class LiveSection(Shape):
    """A live section. `section` is its parent section, or null at the top level."""

    __qualname__ = "Section"  # the name in the OpenAPI document

    id: Id
    section: Id | None
    type: str
    slug: str
    title: str
    path: str
    updated: datetime


class Tag(Shape):
    """A tag, its description, and the number of public nodes that have it."""

    name: str
    description: str
    count: int
    path: str


class PostAuthor(Shape):
    """An author of posts. `node` is the author's page, if there is one."""

    __qualname__ = "Author"  # the name in the OpenAPI document

    name: str
    path: str
    newest: datetime = Field(description="When the newest post was published.")
    node: Id | None


class Tree(Shape):
    """All live sections. Each section comes after its parent section."""

    items: list[LiveSection]


class Tags(Shape):
    """Up to 1,000 tags that are in use. The most frequent tags come first."""

    items: list[Tag]


class Authors(Shape):
    """The authors of public posts. The author of the newest post comes first."""

    items: list[PostAuthor]


@router.get(
    "/site", operation_id="site_get", url_name="api-site", response=Site, summary="Read the site's settings and menu"
)
def site(request: HttpRequest) -> HttpResponse:
    """Return the site's name, language, menu and links, as shown on its pages."""
    settings = stored_site.current().settings
    moment = now()
    sections = sections_tree.current()
    menu = menus.resolve_links(settings.menu, moment) if settings.menu else sections.live_children(None, moment)
    data = {name: getattr(settings, name) for name in ("name", "tagline", "language", "time_zone", "posts_per_page")}
    data |= {"url": links.origin(request), "menu": _serialize_links(menu), "footer": settings.footer}
    data |= {
        name: _serialize_links(menus.resolve_links(getattr(settings, name), moment))
        for name in ("footer_links", "social")
    }
    return responses.json_response(request, data)


def _serialize_links(menu_links: Any) -> list[dict[str, Any]]:
    return [{"title": link.title, "url": link.url, "node": link.id} for link in menu_links]


@router.get("/tree", operation_id="tree_get", url_name="api-tree", response=Tree, summary="Read the tree of sections")
def tree(request: HttpRequest) -> HttpResponse:
    """Return all live sections. To list the nodes in a section, use `/nodes?section=`."""
    sections = sections_tree.current()
    moment = now()
    live_sections = [sections.sections[id] for id in sections.live_ids(moment) if id is not None]
    items = [
        {
            "id": section.id,
            "section": section.parent_id,
            "type": section.type,
            "slug": section.slug,
            "title": section.title,
            "path": sections.url(section.parent_id, section.slug),
            "updated": section.updated,
        }
        for section in live_sections
    ]
    return responses.json_response(request, {"items": items})


@router.get("/tags", operation_id="tags_list", url_name="api-tags", response=Tags, summary="List tags")
def tags(request: HttpRequest) -> HttpResponse:
    """Return the tags of public nodes. To list the nodes that have a particular tag, use `/nodes?tag=`."""
    counts = tag_counts.count_tags(sections_tree.current(), now())
    descriptions = stored_tags.descriptions()
    items = [
        {
            "name": name,
            "description": descriptions.get(name, ""),
            "count": count,
            "path": reverse("tag", args=[name]),
        }
        for name, count in counts.items()
    ]
    return responses.json_response(request, {"items": items})


@router.get("/authors", operation_id="authors_list", url_name="api-authors", response=Authors, summary="List authors")
def authors(request: HttpRequest) -> HttpResponse:
    """Return the authors of public nodes. To list an author's nodes, use `/nodes?author=`."""
    sections = sections_tree.current()
    moment = now()
    by_slug = bylines.authors(sections, moment)
    pages = bylines.pages(sections, moment)
    items = [
        {
            "name": name,
            "path": reverse("author", args=[slug]),
            "newest": newest,
            "node": pages[slug].pk if slug in pages else None,
        }
        for slug, (name, newest) in sorted(by_slug.items(), key=lambda item: item[1][1], reverse=True)
    ]
    return responses.json_response(request, {"items": items})
