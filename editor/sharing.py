"""What search engines and link previews would show of a form, for its preview; a script keeps up with what is typed."""

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

# Characters of a text that its excerpt is made of here, where a form is shown again and again.
BEGINNING = 4_000


@dataclass(frozen=True)
class Preview:
    """`excerpt`: the beginning of the text, said where an editor says nothing. `thumbnail`: "" without a picture;
    `usual`: the one that serves where none is chosen."""

    title: str
    description: str
    address: str
    excerpt: str
    thumbnail: str
    usual: str


def preview(request: HttpRequest, form: NodeForm, node: Node | None) -> Preview:
    """Return the preview of a form over a node; None: a new one."""

    def said(name: str) -> str:
        return str(form[name].value() or "").strip() if name in form.fields else ""

    host = links.origin(request).partition("//")[2]
    html = rendering.to_html(normalize_newlines(said("text")[:BEGINNING]), said("format") or MARKDOWN)
    excerpt = text.excerpt(TextInserts(html).plain(), EXCERPT_WORDS)
    photo = (pictures.default(node) if node else None) or pictures.site_default()
    usual = addresses.square_path(photo, 160) if photo else ""
    chosen = form.fields["picture"].widget.chosen(said("picture")) if "picture" in form.fields else None
    return Preview(
        title=said("seo_title") or said("title"),
        description=said("seo_description") or said("summary") or excerpt,
        address=host + (node.get_absolute_url() if node else "/…"),
        excerpt=excerpt,
        thumbnail=chosen.thumbnail if chosen and chosen.thumbnail else usual,
        usual=usual,
    )
