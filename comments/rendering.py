"""From what is typed to what is stored: clean HTML, made once, when a comment is written."""

from django.utils.html import escape, linebreaks


def render(source: str) -> str:
    """Return the clean HTML of a comment's Markdown."""
    return linebreaks(escape(source))
