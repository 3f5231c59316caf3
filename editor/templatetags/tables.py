"""The frame of the admin's tables: `{% table _("Title") _("State") %}…{% endtable %}` with the rows between the tags."""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_block_tag
def table(content: SafeString, *headings: str, id: str = "", css_class: str = "") -> SafeString:
    """Show rows in a table with these headings. On narrow screens, the table scrolls inside its own box.

    Args:
        content: The rows.
        headings: The headings of the columns.
        id: The id of the table.
        css_class: The class of the table.
    """
    cells = format_html_join("", '<th scope="col">{}</th>', ((heading,) for heading in headings))
    frame = '<div class="results"><table id="{}" class="{}"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
    return format_html(frame, id, f"list-table {css_class}", cells, content)
