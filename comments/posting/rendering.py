"""From what is typed to what is stored: clean HTML, made once, when a comment is written."""

from marginalia.markup import markdown


def render(source: str) -> str:
    """Return the clean HTML of a comment's Markdown: no pictures, no headings, and links that pass nothing on."""
    return markdown.render(source, "comment")
