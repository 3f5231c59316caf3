"""The default renderer, which converts Markdown to clean HTML. A comment is rendered once, when it is written."""

from marginalia.markup import markdown


def render(source: str) -> str:
    """Return clean HTML for a comment's Markdown text, without images or headings, and with nofollow links."""
    return markdown.render(source, "comment")
