"""Texts as HTML. Kept under the nonce of the save that wrote them: a save makes a new nonce, so nothing kept is ever stale."""

from functools import lru_cache

from bson import ObjectId
from django.utils.safestring import SafeString

from markup import html, markdown
from nodes import photo_texts
from nodes.models import HTML, Photo, Placed

# Texts kept rendered, a process. At 20 KB each some 10 MB.
KEPT = 512


def body(node: Placed) -> SafeString:
    """Return the node's text as clean HTML, with the photos that readers may see now."""
    text = getattr(node.metadata.detail, "text", "")
    if not text:
        return SafeString("")
    return photo_texts.shown(_render(node.metadata.nonce, text, node.metadata.detail.format))


def picture(node: Placed) -> Photo | None:
    """Return the photo that stands for a node where it is linked to: itself, or the first that its text shows readers."""
    if isinstance(node, Photo):
        return node
    text = getattr(node.metadata.detail, "text", "")
    return photo_texts.first(_render(node.metadata.nonce, text, node.metadata.detail.format)) if text else None


@lru_cache(maxsize=KEPT)
def _render(nonce: ObjectId, text: str, text_format: str) -> str:
    return to_html(text, text_format)


def to_html(text: str, text_format: str) -> str:
    """Return an editor's text as clean HTML; it may contain HTML in either format."""
    if text_format == HTML:
        return html.clean(text, "article")
    return markdown.render(text, "article")
