"""Conversion of imported texts to the Markdown of comments."""

import re

from marginalia.comments.imports.records import TextFormat
from marginalia.markup.html.sanitizer import clean
from marginalia.markup.text import html_to_text

_SPECIAL = re.compile(r"([\\`*_\[\]<>~|])")
_LINE_START = re.compile(r"^(\s*)([-+#=]|\d{1,9}[.)])", re.MULTILINE)


def to_markdown(text: str, format: TextFormat) -> str:
    """Return a text as Markdown. HTML that Markdown can't express is reduced to its text."""
    if format is TextFormat.MARKDOWN:
        return text
    if format is TextFormat.PLAIN:
        return _escaped(text)
    # The library isn't needed by projects that import nothing.
    from marginalia.markup.markdown import from_html

    html = clean(text)
    return from_html.to_markdown(html) or _escaped(html_to_text(html))


def _escaped(text: str) -> str:
    """Return plain text as Markdown in which no character has a special meaning. Single line breaks are kept."""
    lines = _LINE_START.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", text)).splitlines()
    return "\n".join(line.strip() for line in lines)
