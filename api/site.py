"""The site and what leads through it: settings that readers see, menu, tree of sections, tags, authors."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from pydantic import Field

from api.http import answers
from api.http.routing import Router
from api.schemas.shapes import Id, Shape
from marginalia.mongo.clock import now
from nodes import links
from nodes.models import stored_site
from nodes.models import tree as sections_tree
from reader.selectors import bylines, menus, tag_counts

router = Router(tags=["Site"])


class Link(Shape):
    """Where the site's menu, footer and profiles lead. `node`: the page or section of this site that it is, if it is one."""

    title: str
    url: str
    node: Id | None


class Site(Shape):
    """What the settings say that readers see."""

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


class Section(Shape):
    """A live section. `section`: the one that it stands in, null at the top level."""

    id: Id
    section: Id | None
    type: str
    slug: str
    title: str
    path: str
    updated: datetime


class Tag(Shape):
    """A tag, and on how many public nodes it is."""

    name: str
    count: int
    path: str


class Author(Shape):
    """Who signs posts. `node`: the page that tells of the author, if there is one."""

    name: str
    path: str
    newest: datetime = Field(description="When the newest post was published.")
    node: Id | None


class Tree(Shape):
    """All live sections, each behind the one that it stands in."""

    items: list[Section]


class Tags(Shape):
    """The tags in use, the most used first: 1,000 at most."""

    items: list[Tag]


class Authors(Shape):
    """Who signs public posts, who wrote last first."""

    items: list[Author]


@router.get("/site", url_name="api-site", response=Site, summary="Read the site's settings and menu")
def site(request: HttpRequest) -> HttpResponse:
    """Answer name, language, menu and links, as readers' pages show them."""
    settings = stored_site.current().settings
    moment = now()
    sections = sections_tree.current()
    menu = menus.resolve_links(settings.menu, moment) if settings.menu else sections.live_children(None, moment)
    said = {name: getattr(settings, name) for name in ("name", "tagline", "language", "time_zone", "posts_per_page")}
    said |= {"url": links.origin(request), "menu": _links(menu), "footer": settings.footer}
    said |= {name: _links(menus.resolve_links(getattr(settings, name), moment)) for name in ("footer_links", "social")}
    return answers.told(request, said)


def _links(shown: Any) -> list[dict[str, Any]]:
    return [{"title": link.title, "url": link.url, "node": link.id} for link in shown]


@router.get("/tree", url_name="api-tree", response=Tree, summary="Read the tree of sections")
def tree(request: HttpRequest) -> HttpResponse:
    """Answer all live sections: what stands in each is listed by `/nodes?section=`."""
    sections = sections_tree.current()
    moment = now()
    found = [sections.sections[one] for one in sections.live_ids(moment) if one is not None]
    items = [
        {
            "id": one.id,
            "section": one.parent_id,
            "type": one.type,
            "slug": one.slug,
            "title": one.title,
            "path": sections.url(one.parent_id, one.slug),
            "updated": one.updated,
        }
        for one in found
    ]
    return answers.told(request, {"items": items})


@router.get("/tags", url_name="api-tags", response=Tags, summary="List tags")
def tags(request: HttpRequest) -> HttpResponse:
    """Answer the tags that readers meet: what carries one is listed by `/nodes?tag=`."""
    found = tag_counts.count_tags(sections_tree.current(), now())
    items = [{"name": name, "count": count, "path": reverse("tag", args=[name])} for name, count in found.items()]
    return answers.told(request, {"items": items})


@router.get("/authors", url_name="api-authors", response=Authors, summary="List authors")
def authors(request: HttpRequest) -> HttpResponse:
    """Answer who signs what readers see: what is signed with a name is listed by `/nodes?author=`."""
    sections = sections_tree.current()
    moment = now()
    by_slug = bylines.authors(sections, moment)
    pages = bylines.pages(sections, moment)
    items = [
        {
            "name": name,
            "path": reverse("author", args=[slug]),
            "newest": at,
            "node": pages[slug].pk if slug in pages else None,
        }
        for slug, (name, at) in sorted(by_slug.items(), key=lambda item: item[1][1], reverse=True)
    ]
    return answers.told(request, {"items": items})
