"""A form field for an ordered list of links. Each link is a row with its place, label and target."""

import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import unquote

from bson import ObjectId
from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator, ProhibitNullCharactersValidator, URLValidator, validate_email
from django.urls import Resolver404, resolve
from django.utils.translation import gettext as _

from editor import choosing
from editor.fields import format_reference
from marginalia.markup.characters import is_blank
from marginalia.mongo.clock import now
from reader.selectors.menus import NODE_PREFIX, MenuLink, resolve_links

# Maximum rows of a field. Further submitted rows are ignored.
MOST = 20
# Empty rows at the end of a form.
BLANK = 3
LONGEST_LABEL, LONGEST_TARGET = 60, 1_000
MAIL = "mailto:"
Rows = list[dict[str, str]]


class HiddenRows(forms.HiddenInput):
    """The hidden input with the rows that a form was rendered with, as JSON."""

    def format_value(self, value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value or [])


class RowsInput(forms.Widget):
    """A widget with three inputs per row.

    `default_links` returns the links that readers see if no row is stored. In that case, the widget shows them as rows that
    editors can change.
    """

    template_name = "editor/link_rows.html"
    # Each input has its own label.
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
        return {**context, "rows": [*rows, *blank], "usual": json.dumps(_plain(default_rows)) if default_rows else ""}

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Rows:
        numbered = []
        for number in range(MOST):
            label, target, place = (data.get(f"{name}-{number}-{part}", "") for part in ("label", "target", "place"))
            label = "" if is_blank(label) else label
            if label or target.strip():
                after = int(place) if place.isascii() and place.isdecimal() and len(place) < 4 else MOST
                numbered.append((after, number, {"label": label.strip(), "target": target.strip()}))
        rows = [row for _after, _number, row in sorted(numbered, key=lambda entry: entry[:2])]
        # If the default rows are unchanged, no row is stored, so the links keep following the site.
        return [] if json.dumps(rows) == data.get(f"{name}-usual") else rows

    def id_for_label(self, id_: str) -> str:
        return ""

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return f"{name}-0-target" not in data


class LinkRowsField(forms.Field):
    """A list of links [{label, target}].

    A page or section of this site is stored by its id, so that the link still works after a move. Other targets are stored
    as a path or an absolute URL.
    """

    hidden_widget = HiddenRows

    def __init__(self, *, default_links: Callable[[], Sequence[MenuLink]] | None = None, **kwargs: Any) -> None:
        super().__init__(required=False, widget=RowsInput(default_links), **kwargs)

    def to_python(self, value: Any) -> Rows:
        """Return a list of rows as it is, or read the rows from the hidden input's JSON. Raises ValidationError."""
        if isinstance(value, list):
            return value
        try:
            return _plain(json.loads(value or "[]"))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValidationError(_("Reload the page and try again.")) from error

    def clean(self, value: Any) -> Rows:
        return [_clean_row(row) for row in super().clean(value)]


def _plain(rows: Any) -> Rows:
    return [{"label": str(row["label"]), "target": str(row["target"])} for row in rows]


def format_rows(rows: Rows) -> str:
    """Return links in words, for a message."""
    return ", ".join(f"{row['label'] or row['title']} ({row['target']})" for row in _readable(rows))


def _readable(rows: Rows) -> Rows:
    """Return rows as editors read them: with addresses instead of ids, and with the titles that replace missing labels."""
    links = {link.id: link for link in resolve_links([row for row in rows if _node_id(row["target"])], now())}
    readable = []
    for row in rows:
        node_id = _node_id(row["target"])
        title = links[node_id].title if node_id in links else ""
        target = format_reference(node_id, photos=False) if node_id else row["target"]
        readable.append({**row, "target": target, "title": title})
    return readable


def _node_id(target: str) -> ObjectId | None:
    name = target.removeprefix(NODE_PREFIX)
    return ObjectId(name) if target.startswith(NODE_PREFIX) and ObjectId.is_valid(name) else None


def _clean_row(row: dict[str, str]) -> dict[str, str]:
    """Return a row as it is stored. Raises ValidationError."""
    label = row["label"]
    target = row["target"]
    MaxLengthValidator(LONGEST_LABEL)(label)
    ProhibitNullCharactersValidator()(label + target)
    if len(target) > LONGEST_TARGET or not target:
        raise ValidationError(_("“%(label)s” needs an address."), params={"label": label})
    if _node_id(target):
        return {"label": label, "target": target}
    # Browsers treat a backslash as a slash, so "/\\host" leads to another site.
    if target.startswith("/") and not target.startswith("//") and "\\" not in target:
        return _clean_path(label, target)
    try:
        if target.startswith(MAIL):
            validate_email(target.removeprefix(MAIL))
        else:
            URLValidator(schemes=["https", "http"])(target)
    except ValidationError as error:
        reason = _("“%(target)s” is no address: begin with / for a page of this site, or with https://.")
        raise ValidationError(reason, params={"target": target}) from error
    return {"label": _required(label, target), "target": target}


def _clean_path(label: str, path: str) -> dict[str, str]:
    """Return the row of a path of this site. Raises ValidationError if the path is for pages, and no public page has it."""
    if "?" not in path and "#" not in path:
        if (node := choosing.resolve_address(path)) and not node.content_type.is_file:
            return {"label": label, "target": f"{NODE_PREFIX}{node.pk}"}
        try:
            is_page = resolve(path).url_name == "node"
        except Resolver404:
            is_page = True
        if is_page and not node:
            raise ValidationError(_("No public page has the address “%(path)s”."), params={"path": path})
    return {"label": _required(label, path), "target": path}


def _required(label: str, target: str) -> str:
    if not label:
        raise ValidationError(_("“%(target)s” needs a label."), params={"target": target})
    return label
