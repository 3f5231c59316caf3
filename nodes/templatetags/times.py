"""{% load times %}: points in time for programs that read a page."""

from datetime import datetime

from django import template

register = template.Library()


@register.filter(expects_localtime=True)
def iso(moment: datetime | None) -> str:
    """{{ moment|iso }}: with its offset and to the second, as HTML wants it: no stored moment is finer than a reader's."""
    return moment.isoformat(timespec="seconds") if moment else ""
