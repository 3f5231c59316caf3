"""Conversion of imported texts to the Markdown of comments."""

from marginalia.comments.imports import from_html
from marginalia.comments.imports.from_html import escape, escape_line_start
from marginalia.comments.imports.records import TextFormat


def to_markdown(text: str, format: TextFormat) -> str:
    """Return a text as Markdown. HTML that Markdown can't express is reduced to its text."""
    if format is TextFormat.MARKDOWN:
        return text
    if format is TextFormat.HTML:
        return from_html.to_markdown(text)
    # Single line breaks of plain text are kept.
    return "\n".join(escape_line_start(escape(line.strip())) for line in text.splitlines())
