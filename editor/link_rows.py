"""A form field for links in an order: a row for each, with its place, its label and where it leads."""

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
from editor.fields import spelled
from marginalia.markup.characters import is_blank
from marginalia.mongo.clock import now
from reader.selectors.menus import NODE_PREFIX, MenuLink, resolve_links

# Rows of one field; of those sent, more are not looked at.
MOST = 20
# Empty rows that a form offers.
BLANK = 3
LONGEST_LABEL, LONGEST_TARGET = 60, 1_000
MAIL = "mailto:"
Rows = list[dict[str, str]]


class HiddenRows(forms.HiddenInput):
    """What a form was rendered with."""

    def format_value(self, value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value or [])


class RowsInput(forms.Widget):
    """Three boxes a row. `usual`: what readers see while no row is stored; the rows then begin with it, to be changed."""

    template_name = "editor/link_rows.html"
    # Each row has labels of its own.
    use_fieldset = True

    def __init__(self, usual: Callable[[], Sequence[MenuLink]] | None = None) -> None:
        super().__init__()
        self.usual = usual or tuple

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        rows = _told(value or [])
        usual = [] if rows else [{"label": "", "target": unquote(one.url), "title": one.title} for one in self.usual()]
        rows = (rows or usual)[:MOST]
        usual = usual[:MOST]
        blank = [{"label": "", "target": ""}] * min(BLANK, MOST - len(rows))
        return {**context, "rows": [*rows, *blank], "usual": json.dumps(_plain(usual)) if usual else ""}

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Rows:
        numbered = []
        for number in range(MOST):
            label, target, place = (data.get(f"{name}-{number}-{part}", "") for part in ("label", "target", "place"))
            label = "" if is_blank(label) else label
            if label or target.strip():
                after = int(place) if place.isascii() and place.isdecimal() and len(place) < 4 else MOST
                numbered.append((after, number, {"label": label.strip(), "target": target.strip()}))
        rows = [row for _after, _number, row in sorted(numbered, key=lambda one: one[:2])]
        # Left as they were offered, they go on to follow what is there.
        return [] if json.dumps(rows) == data.get(f"{name}-usual") else rows

    def id_for_label(self, id_: str) -> str:
        return ""

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return f"{name}-0-target" not in data


class LinkRowsField(forms.Field):
    """Links [{label, target}]: a page or section of this site by id, so that it may move; else a path or another address."""

    hidden_widget = HiddenRows

    def __init__(self, *, usual: Callable[[], Sequence[MenuLink]] | None = None, **kwargs: Any) -> None:
        super().__init__(required=False, widget=RowsInput(usual), **kwargs)

    def to_python(self, value: Any) -> Rows:
        """Return rows as they were rendered, or read them from a hidden value. Raises ValidationError for what is none."""
        if isinstance(value, list):
            return value
        try:
            return _plain(json.loads(value or "[]"))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValidationError(_("Reload the page and try again.")) from error

    def clean(self, value: Any) -> Rows:
        return [_checked(row) for row in super().clean(value)]


def _plain(rows: Any) -> Rows:
    return [{"label": str(row["label"]), "target": str(row["target"])} for row in rows]


def told_by(rows: Rows) -> str:
    """Return links in words, for a message."""
    return ", ".join(f"{row['label'] or row['title']} ({row['target']})" for row in _told(rows))


def _told(rows: Rows) -> Rows:
    """Return rows as editors read them: with addresses for ids, and the titles that stand for missing labels."""
    titles = {link.id: link for link in resolve_links([row for row in rows if _id(row["target"])], now())}
    told = []
    for row in rows:
        key = _id(row["target"])
        title = titles[key].title if key in titles else ""
        told.append({**row, "target": spelled(key, photos=False) if key else row["target"], "title": title})
    return told


def _id(target: str) -> ObjectId | None:
    name = target.removeprefix(NODE_PREFIX)
    return ObjectId(name) if target.startswith(NODE_PREFIX) and ObjectId.is_valid(name) else None


def _checked(row: dict[str, str]) -> dict[str, str]:
    label = row["label"]
    target = row["target"]
    MaxLengthValidator(LONGEST_LABEL)(label)
    ProhibitNullCharactersValidator()(label + target)
    if len(target) > LONGEST_TARGET or not target:
        raise ValidationError(_("“%(label)s” needs an address."), params={"label": label})
    if _id(target):
        return {"label": label, "target": target}
    # Browsers take a backslash for a slash: "/\\host" leads to another site.
    if target.startswith("/") and not target.startswith("//") and "\\" not in target:
        return _own(label, target)
    try:
        if target.startswith(MAIL):
            validate_email(target.removeprefix(MAIL))
        else:
            URLValidator(schemes=["https", "http"])(target)
    except ValidationError as error:
        reason = _("“%(target)s” is no address: begin with / for a page of this site, or with https://.")
        raise ValidationError(reason, params={"target": target}) from error
    return {"label": _required(label, target), "target": target}


def _own(label: str, path: str) -> dict[str, str]:
    """Return the row of a path of this site."""
    if "?" not in path and "#" not in path:
        if (found := choosing.at(path)) and not found.content_type.is_file:
            return {"label": label, "target": f"{NODE_PREFIX}{found.pk}"}
        try:
            is_page = resolve(path).url_name == "node"
        except Resolver404:
            is_page = True
        if is_page and not found:
            raise ValidationError(_("No public page has the address “%(path)s”."), params={"path": path})
    return {"label": _required(label, path), "target": path}


def _required(label: str, target: str) -> str:
    if not label:
        raise ValidationError(_("“%(target)s” needs a label."), params={"target": target})
    return label
