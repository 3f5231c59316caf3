"""The widget for an ordered list of links. Each link is a row with its position, label and target."""

import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import unquote

from django import forms

from marginalia.markup.characters import is_blank
from marginalia.mongo.clock import now
from nodes.form_fields import format_reference
from nodes.models.stored_site import linked_id
from nodes.setting_fields import Rows, plain
from reader.selectors.menus import MenuLink, resolve_links

# Maximum number of rows in a field. If more rows are submitted, the additional rows are ignored.
MOST = 20
# Number of empty rows after the stored rows.
BLANK = 3


class RowsInput(forms.Widget):
    """A widget with three inputs per row.

    Attributes:
        default_links: A function that returns the links that readers see if no rows are stored. In that case, the
            widget shows these default links as rows that editors can change.
    """

    template_name = "editor/link_rows.html"
    # Each input has its own label, so the label of the whole field becomes the legend of a fieldset.
    use_fieldset = True

    def __init__(self, default_links: Callable[[], Sequence[MenuLink]] | None = None) -> None:
        super().__init__()
        self.default_links = default_links or tuple

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        rows = _readable(value or [])
        default_links = [] if rows else self.default_links()
        default_rows = [{"label": "", "target": unquote(link.url), "title": link.title} for link in default_links][
            :MOST
        ]
        rows = (rows or default_rows)[:MOST]
        blank = [{"label": "", "target": ""}] * min(BLANK, MOST - len(rows))
        usual = json.dumps(plain(default_rows)) if default_rows else ""
        return {**context, "rows": [*rows, *blank], "usual": usual, "most": MOST}

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Rows:
        numbered = []
        for number in range(MOST):
            label, target, place = (data.get(f"{name}-{number}-{part}", "") for part in ("label", "target", "place"))
            label = "" if is_blank(label) else label
            if label or target.strip():
                after = int(place) if place.isascii() and place.isdecimal() and len(place) < 4 else MOST
                numbered.append((after, number, {"label": label.strip(), "target": target.strip()}))
        rows = [row for _after, _number, row in sorted(numbered, key=lambda entry: entry[:2])]
        # If the default rows are unchanged, don't store them, so that the links are still updated when the site
        # changes.
        return [] if json.dumps(rows) == data.get(f"{name}-usual") else rows

    def id_for_label(self, id_: str) -> str:
        return ""

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return f"{name}-0-target" not in data


def format_rows(rows: Rows) -> str:
    """Return links as text for a message."""
    return ", ".join(f"{row['label'] or row['title']} ({row['target']})" for row in _readable(rows))


def _readable(rows: Rows) -> Rows:
    """Return rows that people can read, with paths instead of ids, and with the titles of linked pages."""
    links = {link.id: link for link in resolve_links([row for row in rows if linked_id(row["target"])], now())}
    readable = []
    for row in rows:
        node_id = linked_id(row["target"])
        title = links[node_id].title if node_id in links else ""
        target = format_reference(node_id, photos=False) if node_id else row["target"]
        readable.append({**row, "target": target, "title": title})
    return readable
