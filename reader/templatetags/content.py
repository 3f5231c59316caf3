"""{% load content %}: show the values of content type fields that refer to nodes or contain Markdown."""

from collections.abc import Iterable
from typing import Any

from bson import ObjectId
from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from marginalia.mongo.clock import now
from nodes import rendering
from nodes.content import NEWEST
from nodes.models import BaseNode, tree
from nodes.selectors import outline, stored_nodes
from photos import texts

register = template.Library()


@register.simple_tag
def referred(node_id: ObjectId | None) -> Any:
    """{% referred detail.see_also as other %}: return a node or photo, or None if readers can't see it."""
    return stored_nodes.live_by_id(tree.current(), node_id, now()) if node_id else None


@register.simple_tag
def route_url(node: BaseNode, name: str, *args: Any, **kwargs: Any) -> str:
    """{% route_url node "calendar" year=2026 %}: return the URL path of a route of the node's type."""
    return node.get_route_url(name, *args, **kwargs)


@register.filter
def month_url(node: BaseNode) -> str:
    """{{ entry|month_url }}: return the path of the archive for the post's month, or "" if the node isn't in a blog."""
    sections = tree.current()
    published = node.metadata.published
    section = sections.sections.get(node.metadata.parent_id)
    if section is None or section.content_type.lists != NEWEST or not (published and node.content_type.is_dated):
        return ""
    day = timezone.localtime(published)
    return f"{sections.url(section.parent_id, section.slug)}/archive/{day:%Y/%m}" if day.year >= 1000 else ""


@register.filter
def section(node: BaseNode) -> tree.Link | None:
    """{{ entry|section }}: return a link to the node's section, or None at the top level."""
    sections = tree.current()
    section = sections.sections.get(node.metadata.parent_id)
    return tree.Link(section.title, sections.url(section.parent_id, section.slug), section.id) if section else None


@register.simple_tag
def section_outline(section_id: ObjectId | None) -> list[outline.Entry]:
    """{% section_outline link.id as entries %}: return the pages and subsections of a section, without those below."""
    if section_id not in tree.current().sections:
        return []
    return [entry for entry in outline.outline(section_id, now()) if entry.depth == 1]


@register.filter
def markdown(text: str | None) -> SafeString:
    """{{ detail.method|markdown }}: render the text of a MarkdownField, including photos, links and inserts."""
    return texts.render_for_readers(rendering.of_field(text)) if text else SafeString("")


@register.filter
def marked(pieces: Iterable[tuple[str, bool]]) -> SafeString:
    """{{ hit.pieces|marked }}: show the extracts of a search result with the words that were found marked."""
    shown = ((format_html("<mark>{}</mark>", text) if is_word else text,) for text, is_word in pieces)
    return format_html_join("", "{}", shown)
