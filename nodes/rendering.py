"""Render text as HTML, and cache the HTML by nonce. Each save generates a new nonce, so caches are never outdated.

Search, excerpts and references use clean HTML. The HTML for readers also has typographic punctuation, formulas,
highlighted code, and labels for footnote links. It is generated from the clean HTML, and cached only in memory, so
that code updates take effect immediately.
"""

import re
from functools import lru_cache
from hashlib import blake2b
from html import unescape
from typing import Final

from bson import ObjectId
from django.utils.html import format_html
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _

from marginalia.markup import code, html, margin, markdown, maths, typography
from marginalia.markup.html import anchors
from nodes.content import HTML, MARKDOWN

# Maximum number of rendered results cached per process. At 20 KB each, they need about 10 MB.
KEPT = 512
# Maximum number of characters in the formulas that one call renders. Rendering a character takes up to about 0.25 ms.
MOST_MATHS: Final = 10_000
# Maximum number of characters in the code that one call highlights. Highlighting a character takes up to about 30 µs.
MOST_CODE: Final = 20_000
# The following expressions match the exact output of the sanitizer.
_CODE: Final = re.compile(r'(<pre>)?<code class="language-([^" ]+)">([^<]*)</code>(?(1)</pre>)')
_BACK: Final = re.compile(r'<a class="footnote-back" href="#[^"]*?(?:\.(\d+))?">')
_NOTE_TAG: Final = re.compile(r"<(?:a|li) [^<>]*>")
_NOTE_NAME: Final = re.compile(r'( (?:id="|href="#)s-)(?=fn(?:ref)?[:.])')
_REF: Final = '<sup class="footnote-ref"><a '


def to_html(text: str, text_format: str) -> str:
    """Convert an editor's text to clean HTML. Text in either format can contain HTML."""
    if text_format == HTML:
        return html.clean(text, "article")
    return markdown.render(text, "article")


@lru_cache(maxsize=KEPT)
def of_field(text: str) -> str:
    """Convert the text of a Markdown field to clean HTML. The result is cached in memory.

    The ids of footnotes contain a hash of the text, because other fields on the same page can contain footnotes with
    the same numbers.
    """
    unique_name = rf"\g<1>{blake2b(text.encode(), digest_size=4).hexdigest()}-"
    return _NOTE_TAG.sub(lambda tag: _NOTE_NAME.sub(unique_name, tag[0]), to_html(text, MARKDOWN))


@lru_cache(maxsize=KEPT)
def saved(nonce: ObjectId, text: str, text_format: str) -> str:
    """Convert the text that was saved with `nonce` to clean HTML. The result is cached in memory."""
    return to_html(text, text_format)


@lru_cache(maxsize=KEPT)
def for_readers(clean: str, language: str, *, text_language: str = "", is_page: bool = False) -> str:
    """Add formulas, highlighted code, punctuation and footnote labels to clean HTML.

    The result is cached in memory.

    Args:
        clean: The clean HTML.
        language: The language of the labels, such as "en".
        text_language: The language of the text, which determines the punctuation, or "" if it is the same.
        is_page: Whether the HTML is the body text of a page. If so, footnotes appear next to their lines instead of in
            a list at the end, and headings link to themselves.
    """
    smart = typography.smarten_html(clean, text_language or language)
    with override(language):
        page_html = (
            anchors.link_headings(margin.add_margin_notes(smart), _("Link to this section")) if is_page else smart
        )
        return _label_footnotes(_CODE.sub(_CodeRenderer(), page_html))


def line(text: str, language: str = "") -> str:
    """Return a plain-text title or summary with the typographic punctuation of its language.

    If `language` is "", use the active language.
    """
    return typography.smarten(text, language or get_language() or "en")


class _CodeRenderer:
    """A callable for `re.sub` that renders up to MOST_MATHS characters of formulas and MOST_CODE characters of code."""

    def __init__(self) -> None:
        self._maths = MOST_MATHS
        self._code = MOST_CODE

    def __call__(self, match: re.Match[str]) -> str:
        is_block = bool(match[1])
        language = match[2]
        source = unescape(match[3])
        if language == "math":
            self._maths -= len(source)
            formula = maths.mathml(source.strip(), is_block=is_block) if self._maths >= 0 else None
            return formula or match[0]
        if not is_block or len(source) > self._code:
            return match[0]
        coloured = code.highlight_code(source, language)
        self._code -= len(source) if coloured else 0
        return f'<pre><code class="language-{language}">{coloured}</code></pre>' if coloured else match[0]


def _label_footnotes(clean: str) -> str:
    """Add roles and labels for screen readers to the footnotes in clean HTML."""
    if _REF not in clean:
        return clean
    notes = format_html('<div class="footnotes" role="doc-endnotes" aria-label="{}">', _("Footnotes"))

    def label_back_link(match: re.Match[str]) -> str:
        label = _("Back to the text") + (f" ({match[1]})" if match[1] else "")
        return format_html('<a role="doc-backlink" aria-label="{}"', label) + match[0].removeprefix("<a")

    return _BACK.sub(label_back_link, clean).replace(margin.START, notes).replace(_REF, f'{_REF}role="doc-noteref" ')
