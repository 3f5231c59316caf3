"""{% load typography %}: titles and summaries as printers would set them."""

from django import template

from nodes import rendering

register = template.Library()


@register.filter
def smart(text: object) -> str:
    """{{ node.metadata.title|smart }}: a line of text with the quotation marks, apostrophes and dashes of the site's language.

    Text stays text, for the template to escape.
    """
    return rendering.line(str(text))
