"""Hostile values in the fields of every content type: queries and updates, and scripts in every text."""

import json
import re
from collections import Counter
from contextlib import suppress
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from bson import Binary, Code, Decimal128, ObjectId, Regex
from django.db import models
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField

from cms.testing import generated
from cms.testing.build import EDITOR, node, nonce, stored
from cms.testing.factories import factory_for
from marginalia.mongo.connection import database
from nodes import content
from nodes.content import declared_fields, values
from nodes.errors import FieldRefused, InvalidField
from nodes.selectors import stored_nodes
from nodes.services import editing
from tests.support.nodes.content import Everything
from tests.support.payloads import ALL, as_received

NAMES = [type.type_name for type in content.types() if not type.is_file] + [Everything.type_name]
VALUES = [
    {"$gt": ""},
    {"$where": "sleep(1000)"},
    [{"$ne": None}],
    [["$$ROOT"]],
    {"a.b": 1},
    {"_id": {"$gt": ""}},
    [{"_id": {"$gt": ""}, "name": "x"}],
    [{"$set": 1}],
    Regex(".*"),
    Code("return 1"),
    Binary(b"\xff"),
    ObjectId("f" * 24),
    Decimal128("NaN"),
    float("nan"),
    float("inf"),
    2**200,
    -(2**200),
    "\ud800",
    "a\x00b",
    "x" * 100_000,
    "9" * 400,
    True,
    object(),
    range(3),
]
TYPED = [
    "$where",
    "{'$gt': ''}",
    '{"$gt": ""}',
    "a.b",
    "a\x00b",
    "9" * 400,
    "NaN",
    "-1e999",
    "２",
    "x" * 5_000,
    "\u202e",
    "[]",
    "null",
]


# The type with a field of every class always, the rest in `make test-slow`.
every_type = pytest.mark.parametrize(
    "place",
    [pytest.param(name, marks=() if name == Everything.type_name else pytest.mark.slow) for name in NAMES],
    indirect=True,
)


def names_in(value: Any) -> set[str]:
    """Return the names of all fields in a document, at any depth."""
    if isinstance(value, dict):
        return set(value) | {name for inner in value.values() for name in names_in(inner)}
    return {name for inner in value for name in names_in(inner)} if isinstance(value, list) else set()


@pytest.mark.slow
@every_type
def test_invalid_value_is_refused_or_harmless(place):
    type, section = place
    node_id = factory_for(type)(slug="n", parent_id=section)
    for path, field in declared_fields.declared(type).items():
        for value in [*VALUES, *_in_parts(field)]:
            with suppress(FieldRefused):
                editing.save(EDITOR, node_id, nonce(node_id), {path: value})
        document = database()["cms.nodes"].find_one({"_id": node_id})
        assert not [name for name in names_in(document) if name.startswith("$") or "." in name], path


def _in_parts(field: models.Field) -> list[Any]:
    if not isinstance(field, EmbeddedModelField | EmbeddedModelArrayField):
        return []
    known = [one.attname for one in values.stored_fields(field.embedded_model)]
    parts = [{name: value} for name in known for value in VALUES] + [{f"{name}.x": 1} for name in known] + [{"$x": 1}]
    return parts if isinstance(field, EmbeddedModelField) else [[part] for part in parts]


@every_type
def test_unknown_field_path_is_refused(place):
    type, section = place
    node_id = factory_for(type)(slug="n", parent_id=section)
    before = stored(node_id)
    for path in declared_fields.declared(type):
        for wrong in (
            f"{path}.x",
            f"{path}.0",
            f"{path}.$",
            f"${path}",
            f"{path}.$[]",
            f"metadata.{path}",
            f"{path}\x00",
        ):
            with pytest.raises(InvalidField):
                editing.save(EDITOR, node_id, before["nonce"], {wrong: 1})
    assert stored(node_id) == before


@pytest.mark.slow
@every_type
def test_form_responds_to_any_input(place, editor):
    type, section = place
    node_id, ann = factory_for(type)(slug="n", parent_id=section), editor()
    address = f"/admin/nodes/node/{node_id}/change/"
    form = ann.open(address)
    own = {
        name for name in form if name not in ("nonce", "form", "csrfmiddlewaretoken", "section", "slug", "tags_seen")
    }
    for typed in TYPED:
        answer = ann.send(address, ann.open(address), **dict.fromkeys(own, typed))
        assert answer.status_code in (200, 302), typed
        assert not [name for name in names_in(stored(node_id)) if name.startswith("$") or "." in name]


ADDRESSES = ("href", "src", "action", "formaction", "data", "poster", "xlink:href")
SCRIPTS = ("javascript:", "vbscript:", "data:text", "data:,", "data:image/svg")


class Page(HTMLParser):
    """The elements of a page, and those that can run a script."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.made, self.runs, self.script = Counter[tuple[str, ...]](), Counter[str](), ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = sorted(name for name, _value in attributes)
        # A page has as many options as there are nodes to refer to.
        self.made[tag, *names] += tag != "option"
        said = dict(attributes)
        self.script = tag if tag == "script" and said.get("type") != "application/ld+json" else ""
        if tag in ("object", "embed", "base", "applet", "frame") or (tag == "meta" and "http-equiv" in said):
            self.runs[tag] += 1
        if tag == "iframe" and not (said.get("src") or "").startswith("/"):
            self.runs[tag] += 1
        for name, value in attributes:
            runs = name in ADDRESSES and re.sub(r"[\x00-\x20]", "", value or "").lower().startswith(SCRIPTS)
            if runs or name.startswith("on") or name in ("srcdoc", "style"):
                self.runs[f"{tag} {name}"] += 1

    def handle_data(self, data: str) -> None:
        if self.script and "alert" in data:
            self.runs["script"] += 1

    def handle_endtag(self, tag: str) -> None:
        self.script = ""


def texts(type: str, pieces: list[str]) -> dict[str, Any]:
    """Return values for every field that accepts text, by path: as many pieces as fit."""
    return {
        path: said for path, field in declared_fields.own_fields(type) if (said := _text(field, pieces)) is not None
    } | ({"detail.text": "\n\n".join(pieces)} if "detail.text" in declared_fields.declared(type) else {})


def _text(field: models.Field, pieces: list[str]) -> Any:
    if isinstance(field, EmbeddedModelField | EmbeddedModelArrayField):
        known = [one for one in values.stored_fields(field.embedded_model) if not one.primary_key]
        part = {one.attname: said for one in known if (said := _text(one, pieces)) is not None}
        return [part] if isinstance(field, EmbeddedModelArrayField) else part
    if isinstance(field, ArrayField):
        fitting = [one for piece in pieces if (one := _text(field.base_field, [piece])) is not None]
        return fitting or None
    if field.flatchoices or not isinstance(field, models.CharField | models.TextField):
        return None
    said = "\n\n".join(pieces) if isinstance(field, models.TextField) else " ".join(pieces)
    said = said[: field.max_length]
    # Fields for emails and URLs refuse other text.
    return said if generated.is_valid(field, said) else None


# A few pieces at a time, so that short fields contain whole ones too.
TEXTS = [as_received(payload) for payload in ALL]
BATCHES = [TEXTS[start :: len(ALL) // 8] for start in range(len(ALL) // 8)]


def share(type: str) -> list[list[str]]:
    """Return the payloads for a type's fields: all of them for fields of every class.

    The other types share them, because their fields are of the same classes and only their templates differ.
    """
    is_whole = type == Everything.type_name
    return BATCHES if is_whole else BATCHES[NAMES.index(type) :: len(NAMES) - 1]


@every_type
@pytest.mark.parametrize("most", [pytest.param(1, id="few"), pytest.param(len(ALL), id="all", marks=pytest.mark.slow)])
def test_stored_payload_never_runs_on_any_page(place, most, editor, client):
    type, section = place
    batches = share(type)[:most]
    ann, bob = editor(), editor("bob")
    for number, pieces in enumerate(batches):
        # Harmless text that the same fields refuse, for example as a slug.
        harmless = [re.sub(r"[^\w-]", "·", piece) for piece in pieces]
        html, plain = (
            _shown(type, section, f"{name}{number}", said, ann, bob, client)
            for name, said in (("evil", pieces), ("plain", harmless))
        )
        for where, page in html.items():
            assert page.runs <= plain[where].runs, (where, page.runs - plain[where].runs)
        # The form lists each broken link of a text.
        assert html["form without broken links"].made == plain["form without broken links"].made


def _shown(type, section, slug, pieces, ann, bob, client) -> dict[str, Page]:
    """Return every page that shows a node with these pieces in its fields, an older version of it, or a conflict."""
    said = texts(type, pieces)
    given = generated.minimal_values(type) | said
    tags = tuple(re.sub(r"[\s,]+", " ", piece)[:50].strip() or "x" for piece in pieces[:3])
    made = node(type, slug, parent=section, title=pieces[0][:200], summary=" ".join(pieces[1:3]), tags=tags, **given)
    at, first, where = f"/admin/nodes/node/{made}", nonce(made), stored_nodes.get(made).get_absolute_url()
    address = f"{at}/change/"
    theirs, mine = ann.open(address), bob.open(address)
    pages = {"form": ann.client.get(address)}
    pages |= {"page": client.get(where), "home": client.get("/")}
    pages["search"] = client.get("/search", {"q": "alert script"})
    if section:
        pages["section"] = client.get(where.rpartition("/")[0])
    both = {"title", "summary"} | {
        name for name, value in theirs.items() if value and value[0] == said.get(f"detail.{name}")
    }
    assert ann.send(address, theirs, **dict.fromkeys(both, "changed")).status_code == 302
    asked = bob.send(address, mine, **dict.fromkeys(both, pieces[3][:80]))
    assert asked.status_code == 409
    pages |= {"conflict": asked, "history": ann.client.get(f"{at}/history/")}
    pages["compare"] = ann.client.get(f"{at}/compare/", {"old": str(first), "new": str(nonce(made))})
    pages["version"] = ann.client.get(f"{at}/history/{first}/")
    pages["list"] = ann.client.get("/admin/nodes/node/", {"type": type})
    pages["preview"] = ann.client.get(f"{at}/preview/")
    found = {}
    for name, answer in pages.items():
        assert answer.status_code == (409 if name == "conflict" else 200), name
        html = answer.content.decode()
        for block in re.findall(r'<script type="application/ld\+json">(.*?)</script>', html, re.DOTALL):
            json.loads(block)
        found[name] = Page(html)
    form = pages["form"].content.decode()
    found["form without broken links"] = Page(
        re.sub(r'(<div class="text-warnings"[^>]*>).*?</div>', r"\1</div>", form, flags=re.DOTALL)
    )
    for kind in ("rss", "atom", "json"):
        body = client.get(f"/feed/{kind}").content.decode()
        told = json.loads(body)["items"] if kind == "json" else ElementTree.fromstring(body).iter()
        for number, one in enumerate(told):
            found[f"feed {kind} {number}"] = Page(_html_of(one))
    return found


def _html_of(one: Any) -> str:
    """Return the parts of a feed entry that are read as HTML."""
    if isinstance(one, dict):
        return str(one.get("content_html", ""))
    is_html = one.tag.endswith(("encoded", "description", "}content", "}summary")) and one.get("type") != "text"
    return (one.text or "") if is_html else ""
