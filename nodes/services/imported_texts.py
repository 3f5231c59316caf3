"""The body texts of imported pages, which are stored as Markdown so that editors can edit them like all other texts."""

from django.conf import settings

from marginalia.markup.markdown.from_html import to_markdown
from nodes.content import HTML, MARKDOWN


def text_fields(clean: str) -> dict[str, str]:
    """Return the fields that store the clean HTML of an imported page, keyed by path.

    The text is stored as Markdown, in which blocks that Markdown can't express are HTML. The text is stored as HTML only
    if the Markdown would look different, or would be too long.
    """
    markdown = to_markdown(clean)
    if markdown is None or len(markdown.encode()) > settings.TEXT_MAX_BYTES:
        return {"detail.text": clean, "detail.format": HTML}
    return {"detail.text": markdown, "detail.format": MARKDOWN}
