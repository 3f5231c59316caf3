"""Structured data for search engines: JSON-LD in a script element, with the https://schema.org vocabulary."""

import json
from collections.abc import Sequence
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from nodes import content, links, rendering
from nodes.models import Node, Photo, stored_site
from photos import addresses
from photos.addresses import ShareImage

# The schema.org types that have a headline. All other types have a name.
_ARTICLES = frozenset({"Article", "BlogPosting", "NewsArticle", "Report", "TechArticle"})
# The properties that the schema.org type Event and its subtypes don't have. All names of these types end with "Event".
_NOT_OF_EVENTS = ("author", "dateModified", "datePublished", "isPartOf", "publisher")
# JSON escapes for characters that could end the script element in an HTML parser.
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
_EMPTY: tuple[Any, ...] = (None, "", [], (), {})


def node_script(
    request: HttpRequest, node: Node | Photo, breadcrumbs: Sequence[dict[str, str]], picture: ShareImage | None
) -> SafeString:
    """Return the script element for a node's page, with the node and its breadcrumbs."""
    origin = links.origin(request)
    graph = [_node(origin, node, breadcrumbs, picture)]
    if breadcrumbs:
        graph.append(
            _breadcrumb_list(origin, [*breadcrumbs, {"title": node.metadata.title, "url": node.get_absolute_url()}])
        )
    return _script(graph)


def front_page_script(request: HttpRequest, listed: Sequence[Node]) -> SafeString:
    """Return the script element for a front page that lists posts, with the site and the listed posts."""
    origin = links.origin(request)
    site = stored_site.current().settings
    website = {
        "@type": "WebSite",
        "@id": f"{origin}/",
        "url": f"{origin}/",
        "name": rendering.line(site.name),
        "description": rendering.line(site.tagline),
        "inLanguage": site.language,
        "publisher": _publisher(origin),
    }
    graph: list[dict[str, Any]] = [{name: value for name, value in website.items() if value not in _EMPTY}]
    if listed:
        steps = [
            {"title": rendering.line(node.metadata.title, node.language), "url": node.get_absolute_url()}
            for node in listed
        ]
        graph.append({"@type": "ItemList", "itemListElement": _items(origin, steps, "url")})
    return _script(graph)


def _script(graph: list[dict[str, Any]]) -> SafeString:
    document = {"@context": "https://schema.org", "@graph": graph}
    text = json.dumps(document, ensure_ascii=False, cls=DjangoJSONEncoder).translate(_ESCAPES)
    return format_html('<script type="application/ld+json">{}</script>', SafeString(text))


def _node(
    origin: str, node: Node | Photo, breadcrumbs: Sequence[dict[str, str]], picture: ShareImage | None
) -> dict[str, Any]:
    metadata = node.metadata
    site = stored_site.current().settings
    url = origin + node.get_absolute_url()
    type = "WebSite" if url == f"{origin}/" else node.content_type.schema_org
    data: dict[str, Any] = {
        "@type": type,
        "@id": url,
        "url": url,
        "headline" if type in _ARTICLES else "name": rendering.line(metadata.title, node.language),
        "description": rendering.line(node.share_description, node.language),
        "datePublished": metadata.published.isoformat() if metadata.published else None,
        "dateModified": metadata.updated.isoformat(),
        "inLanguage": node.language or site.language,
        "keywords": list(metadata.tags),
        "publisher": _publisher(origin),
    }
    # Pages without a date don't show their author, who may have no author page.
    if node.content_type.is_dated and metadata.author and metadata.author.name:
        data["author"] = _person(metadata.author.name, origin, metadata.author.get_absolute_url())
    if node.content_type.is_of_author:
        data["mainEntity"] = _person(metadata.title, origin, node.get_absolute_url())
    if breadcrumbs:
        section = breadcrumbs[-1]
        data["isPartOf"] = {
            "@type": content.get(section["type"]).schema_org,
            "name": section["title"],
            "url": origin + section["url"],
        }
    data |= _file(origin, node) if isinstance(node, Photo) else {"image": _image(origin, picture)}
    if type.endswith("Event"):
        data |= dict.fromkeys(_NOT_OF_EVENTS) | {"startDate": node.date}
    data |= metadata.detail.linked_data()
    return {name: value for name, value in data.items() if value not in _EMPTY}


def _publisher(origin: str) -> dict[str, str]:
    return {"@type": "Organization", "name": stored_site.current().settings.name, "url": f"{origin}/"}


def _person(name: str, origin: str, path: str) -> dict[str, str]:
    person = {"@type": "Person", "name": name}
    return person | {"url": origin + path} if path else person


def _image(origin: str, picture: ShareImage | None) -> dict[str, Any] | None:
    if picture is None:
        return None
    size = {"width": _pixels(picture.width), "height": _pixels(picture.height)}
    image = {"@type": "ImageObject", "url": origin + picture.path, **size}
    return image | {"caption": picture.alt} if picture.alt else image


def _file(origin: str, photo: Photo) -> dict[str, Any]:
    detail = photo.metadata.detail
    return {
        "contentUrl": origin + addresses.original_path(photo),
        "thumbnailUrl": origin + addresses.share_image(photo).path,
        "encodingFormat": detail.content_type if addresses.is_whole(photo) else "image/jpeg",
        "width": _pixels(addresses.size(photo)[0]),
        "height": _pixels(addresses.size(photo)[1]),
        "caption": detail.alt,
    }


def _pixels(number: int) -> dict[str, Any]:
    return {"@type": "QuantitativeValue", "value": number, "unitText": "px"}


def _breadcrumb_list(origin: str, steps: Sequence[dict[str, str]]) -> dict[str, Any]:
    return {"@type": "BreadcrumbList", "itemListElement": _items(origin, steps, "item")}


def _items(origin: str, steps: Sequence[dict[str, str]], name: str) -> list[dict[str, Any]]:
    """Convert pages, given as {title, url}, to numbered list items. `name` is the key for the URL in each item."""
    return [
        {"@type": "ListItem", "position": number, "name": step["title"], name: origin + step["url"]}
        for number, step in enumerate(steps, 1)
    ]
