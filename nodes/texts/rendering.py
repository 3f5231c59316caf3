"""Texts as HTML. Kept under the nonce of the save that wrote them: a save makes a new nonce, so nothing kept is ever stale."""

from functools import lru_cache

from bson import ObjectId

from markup import html, markdown
from nodes.content import HTML, MARKDOWN

# Texts kept rendered, a process. At 20 KB each some 10 MB.
KEPT = 512


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
