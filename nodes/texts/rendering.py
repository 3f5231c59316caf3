"""Texts as HTML. Kept under the nonce of the save that wrote them: a save makes a new nonce, so nothing kept is ever stale.

Search, excerpts and references go by the clean HTML of a text. Readers get more, made of that and kept in process:
punctuation, formulas, names for the links of footnotes. None of it is stored, so that another release shows its own.
"""

import re
from functools import lru_cache
from html import unescape
from typing import Final

from bson import ObjectId
from django.utils.html import format_html
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _

from markup import html, markdown
from nodes.content import HTML, MARKDOWN
from nodes.texts import maths, typography

# Texts kept rendered, a process. At 20 KB each some 10 MB.
KEPT = 512
# Characters of a text of which formulas are made: some 0.25 ms each, at worst.
MOST_MATHS: Final = 10_000
# As the sanitizer writes them.
_MATHS: Final = re.compile(r'(<pre>)?<code class="language-math">([^<]*)</code>(?(1)</pre>)')
_NOTES: Final = '<div class="footnotes">'
_BACK: Final = re.compile(r'<a class="footnote-back" href="#[^"]*?(?:\.(\d+))?">')
_REF: Final = '<sup class="footnote-ref"><a '


def to_html(text: str, text_format: str) -> str:
    """Return an editor's text as clean HTML; it may contain HTML in either format."""
    if text_format == HTML:
        return html.clean(text, "article")
    return markdown.render(text, "article")


@lru_cache(maxsize=KEPT)
def of_field(text: str) -> str:
    """Return what a field of Markdown says as clean HTML. Kept in process."""
    return to_html(text, MARKDOWN)


@lru_cache(maxsize=KEPT)
def saved(nonce: ObjectId, text: str, text_format: str) -> str:
    """Return the text that was saved under a nonce as clean HTML. Kept in process."""
    return to_html(text, text_format)


@lru_cache(maxsize=KEPT)
def for_readers(clean: str, language: str) -> str:
    """Return clean HTML with maths as MathML, the punctuation of `language`, and names in it for the links of footnotes.

    Kept in process."""
    with override(language):
        return _with_names(_MATHS.sub(_Maths(), typography.smart_html(clean, language)))


def line(text: str) -> str:
    """Return a title or a summary with the punctuation of the site's language. It is text, not HTML."""
    return typography.smart(text, get_language() or "en")


class _Maths:
    """Returns what takes the place of each formula of one text, as long as its bound lasts."""

    def __init__(self) -> None:
        self._left = MOST_MATHS

    def __call__(self, found: re.Match[str]) -> str:
        typed = unescape(found[2])
        self._left -= len(typed)
        formula = maths.mathml(typed.strip(), is_block=bool(found[1])) if self._left >= 0 else None
        return formula or found[0]


def _with_names(clean: str) -> str:
    if _NOTES not in clean:
        return clean
    notes = format_html('<div class="footnotes" role="doc-endnotes" aria-label="{}">', _("Footnotes"))

    def back(found: re.Match[str]) -> str:
        name = _("Back to the text") + (f" ({found[1]})" if found[1] else "")
        return format_html('<a role="doc-backlink" aria-label="{}"', name) + found[0].removeprefix("<a")

    return _BACK.sub(back, clean).replace(_NOTES, notes).replace(_REF, f'{_REF}role="doc-noteref" ')
