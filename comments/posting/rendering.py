"""The default renderer: clean HTML from Markdown, made once, when a comment is written."""

from marginalia.markup import markdown


def render(source: str) -> str:
    """Return the clean HTML of a comment's Markdown: no images, no headings, and nofollow links."""
    return markdown.render(source, "comment")
