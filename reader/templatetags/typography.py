"""{% load typography %}: the language of nodes, and typographic quotation marks and dashes for titles and summaries."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from nodes import languages, rendering
from nodes.models import BaseNode

register = template.Library()


@register.filter
def smart(text: object, node: BaseNode | None = None) -> str:
    """{{ node.metadata.title|smart:node }}: return a line of text with typographic quotation marks and dashes.

    The characters depend on the language of the node or, without a node, on the site's language. The result is plain
    text, which the template escapes.
    """
    return rendering.line(str(text), node.language if node else "")


@register.filter
def language_attributes(node: BaseNode | None) -> SafeString:
    """<h2{{ node|language_attributes }}>: return `lang` and `dir` if the node isn't in the site's language."""
    code = node.language if node else ""
    if not code or code == get_language():
        return SafeString("")
    return format_html(' lang="{}" dir="{}"', code, languages.direction(code))
