"""{% load typography %}: typographic quotation marks and dashes for titles and summaries."""

from django import template

from nodes import rendering

register = template.Library()


@register.filter
def smart(text: object) -> str:
    """{{ node.metadata.title|smart }}: return a line of text with typographic quotation marks, apostrophes and dashes.

    Their form depends on the language of the site. The result is plain text, which the template escapes.
    """
    return rendering.line(str(text))
