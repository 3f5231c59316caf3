"""{% load typography %}: typographic quotation marks and dashes for titles and summaries."""

from django import template

from nodes import rendering

register = template.Library()


@register.filter
def smart(text: object) -> str:
    """{{ node.metadata.title|smart }}: return a line of text with typographic quotation marks, apostrophes and dashes.

    The characters depend on the site's language. The result is plain text, which the template escapes.
    """
    return rendering.line(str(text))
