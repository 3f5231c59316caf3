"""The edit form's preview of search results and shared links. A script updates the preview while the editor types."""

from dataclasses import dataclass

from django.http import HttpRequest

from editor.forms import NodeForm
from marginalia.markup import text
from marginalia.markup.characters import normalize_newlines
from marginalia.markup.inserts.reading import TextInserts
from nodes import links, rendering
from nodes.content import MARKDOWN
from nodes.models import Node
from nodes.services.derived import EXCERPT_WORDS
from photos import addresses, pictures

# Maximum number of characters from which the excerpt is generated. Forms are shown often, so this must be fast.
BEGINNING = 4_000


@dataclass(frozen=True)
class Preview:
    """The contents of the preview.

    Attributes:
        excerpt: The beginning of the text, which is used if the description and the summary are empty.
        thumbnail: The path of the thumbnail of the chosen photo or the default photo, or "" if there is none.
        default_thumbnail: The path of the thumbnail that is used if no photo is chosen, or "" if there is none.
    """

    title: str
    description: str
    address: str
    excerpt: str
    thumbnail: str
    default_thumbnail: str


def preview(request: HttpRequest, form: NodeForm, node: Node | None) -> Preview:
    """Return the preview for the form of `node`. If `node` is None, return the preview for the form of a new page."""

    def value(name: str) -> str:
        return str(form[name].value() or "").strip() if name in form.fields else ""

    host = links.origin(request).partition("//")[2]
    html = rendering.to_html(normalize_newlines(value("text")[:BEGINNING]), value("format") or MARKDOWN)
    excerpt = text.excerpt(TextInserts(html).plain(), EXCERPT_WORDS)
    photo = (pictures.default(node) if node else None) or pictures.site_default()
    default_thumbnail = addresses.square_path(photo, 160) if photo else ""
    chosen = form.fields["picture"].widget.chosen(value("picture")) if "picture" in form.fields else None
    return Preview(
        title=value("seo_title") or value("title"),
        description=value("seo_description") or value("summary") or excerpt,
        address=host + (node.get_absolute_url() if node else "/…"),
        excerpt=excerpt,
        thumbnail=chosen.thumbnail if chosen and chosen.thumbnail else default_thumbnail,
        default_thumbnail=default_thumbnail,
    )
