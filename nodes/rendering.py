"""Texts as HTML. Kept under the nonce of the save that wrote them: a save makes a new nonce, so nothing kept is ever stale.

Search, excerpts and references go by the clean HTML of a text. Readers get more, made of that and kept in process:
punctuation, formulas, colours of code, names for the links of footnotes. None of it is stored: another release shows its own.
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

# Texts kept rendered, a process. At 20 KB each some 10 MB.
KEPT = 512
# Characters of a text of which formulas are made: some 0.25 ms each, at worst.
MOST_MATHS: Final = 10_000
# Characters of code of a text that are coloured: some 30 µs each, at worst.
MOST_CODE: Final = 20_000
# As the sanitizer writes them.
_CODE: Final = re.compile(r'(<pre>)?<code class="language-([^" ]+)">([^<]*)</code>(?(1)</pre>)')
_BACK: Final = re.compile(r'<a class="footnote-back" href="#[^"]*?(?:\.(\d+))?">')
_NOTE_TAG: Final = re.compile(r"<(?:a|li) [^<>]*>")
_NOTE_NAME: Final = re.compile(r'( (?:id="|href="#)s-)(?=fn(?:ref)?[:.])')
_REF: Final = '<sup class="footnote-ref"><a '


def to_html(text: str, text_format: str) -> str:
    """Return an editor's text as clean HTML; it may contain HTML in either format."""
    if text_format == HTML:
        return html.clean(text, "article")
    return markdown.render(text, "article")


@lru_cache(maxsize=KEPT)
def of_field(text: str) -> str:
    """Return what a field of Markdown says as clean HTML. Kept in process.

    The ids of its footnotes are its own: the page's text and its other fields have notes of the same numbers.
    """
    own = rf"\g<1>{blake2b(text.encode(), digest_size=4).hexdigest()}-"
    return _NOTE_TAG.sub(lambda tag: _NOTE_NAME.sub(own, tag[0]), to_html(text, MARKDOWN))


@lru_cache(maxsize=KEPT)
def saved(nonce: ObjectId, text: str, text_format: str) -> str:
    """Return the text that was saved under a nonce as clean HTML. Kept in process."""
    return to_html(text, text_format)


@lru_cache(maxsize=KEPT)
def for_readers(clean: str, language: str, *, is_page: bool = False) -> str:
    """Return clean HTML with formulas, coloured code, the punctuation of `language`, and names in it for links of footnotes.

    `is_page`: whether it is the text of a page: its footnotes stand beside their lines, not in a list at the end, and its
    headings have links to themselves. Kept in process."""
    smart = typography.smart_html(clean, language)
    with override(language):
        placed = anchors.linked(margin.noted(smart), _("Link to this section")) if is_page else smart
        return _with_names(_CODE.sub(_Code(), placed))


def line(text: str) -> str:
    """Return a title or a summary with the punctuation of the site's language. It is text, not HTML."""
    return typography.smart(text, get_language() or "en")


class _Code:
    """Returns what takes the place of each formula and of each block of code of one text, as long as its bounds last."""

    def __init__(self) -> None:
        self._maths = MOST_MATHS
        self._code = MOST_CODE

    def __call__(self, found: re.Match[str]) -> str:
        is_block = bool(found[1])
        language = found[2]
        typed = unescape(found[3])
        if language == "math":
            self._maths -= len(typed)
            formula = maths.mathml(typed.strip(), is_block=is_block) if self._maths >= 0 else None
            return formula or found[0]
        if not is_block or len(typed) > self._code:
            return found[0]
        coloured = code.highlighted(typed, language)
        self._code -= len(typed) if coloured else 0
        return f'<pre><code class="language-{language}">{coloured}</code></pre>' if coloured else found[0]


def _with_names(clean: str) -> str:
    if _REF not in clean:
        return clean
    notes = format_html('<div class="footnotes" role="doc-endnotes" aria-label="{}">', _("Footnotes"))

    def back(found: re.Match[str]) -> str:
        name = _("Back to the text") + (f" ({found[1]})" if found[1] else "")
        return format_html('<a role="doc-backlink" aria-label="{}"', name) + found[0].removeprefix("<a")

    return _BACK.sub(back, clean).replace(margin.START, notes).replace(_REF, f'{_REF}role="doc-noteref" ')
