"""Validate slugs, find conflicts with the site's own URLs, and find free slugs."""

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from itertools import count
from typing import Any
from urllib.parse import unquote

from bson import ObjectId
from django.conf import settings
from django.urls import Resolver404, URLResolver, get_resolver, resolve
from django.utils.translation import gettext as _

from marginalia.markup.text import slugify
from marginalia.mongo.connection import database
from nodes.collections import NODES
from nodes.errors import InvalidSlug
from nodes.models import tree

LONGEST = 200
# How many candidate slugs ("page", "page-2", "page-3" and so on) each query checks.
TRIED = 50
# The name of the catch-all route for nodes in the URL configuration.
ROUTE = "node"


def normalized(slug: str) -> str:
    """Return the slug in its stored form: NFC, lower case, and without surrounding whitespace."""
    return unicodedata.normalize("NFC", slug.strip().lower())


def check(slug: str, parent_id: ObjectId | None, *, section: str | None = None) -> None:
    """Raise InvalidSlug with the reason if a node in the section `parent_id` can't have the normalized `slug`.

    For a section that doesn't exist yet, pass its URL path as `section`, which replaces `parent_id`.
    """
    if not slug:
        raise InvalidSlug(_("Enter a slug. It is the last part of the page's URL."))
    if len(slug) > LONGEST:
        raise InvalidSlug(_("This slug is too long. Use at most %(most)d characters.") % {"most": LONGEST})
    if not all(_is_slug_character(c) for c in slug) or not (slug[0].isalnum() and slug[-1] not in "-_"):
        raise InvalidSlug(_("“%(slug)s” can't be a slug. Use only letters, digits and hyphens.") % {"slug": slug})
    if conflicts_with_route(slug, parent_id, section=section):
        raise InvalidSlug(_("The site already uses “%(slug)s” here. Choose another slug.") % {"slug": slug})


def _is_slug_character(character: str) -> bool:
    return character in "-_" or unicodedata.category(character)[0] in "LNM"


def conflicts_with_route(slug: str, parent_id: ObjectId | None, *, section: str | None = None) -> bool:
    """Return whether another view serves the node's URL, or a URL below it. For `section`, see `check`."""
    address = unquote(tree.current().url(parent_id, slug) if section is None else f"{section}/{slug}")
    if address == "/" or not address:
        return False
    if parent_id is None and slug in reserved():
        return True
    for path in (address, f"{address}/x"):
        try:
            if resolve(path).url_name != ROUTE:
                return True
        except Resolver404:
            continue
    return False


def reserved() -> frozenset[str]:
    """Return the slugs that no node at the top level can have, because the site's own URLs begin with them."""
    return _first_parts(get_resolver()) | {settings.STATIC_URL.strip("/")}


@lru_cache(maxsize=4)
def _first_parts(resolver: URLResolver) -> frozenset[str]:
    """Return the first path components of the site's own URLs.

    If a section had one of these slugs, a page that is moved into the section, or renamed, could get one of the site's
    own URLs.
    """
    parts: set[str] = set()
    for pattern in resolver.url_patterns:
        head, slash, _rest = str(pattern.pattern).partition("/")
        if isinstance(pattern, URLResolver) and not slash:
            parts |= _first_parts(pattern)
        elif "<" not in head:
            parts.add(head)
    return frozenset(parts - {""})


def find_free(
    wanted: str, parent_id: ObjectId | None, collection: str = NODES, *, among: Mapping[str, Any] | None = None
) -> str:
    """Convert `wanted` to a slug that is currently free in the section. Append a number if necessary.

    The candidates are "news", "news-2", "news-3" and so on.

    Args:
        wanted: The text from which the slug is generated.
        parent_id: The section, or None for the top level.
        collection: The node's collection.
        among: A filter for the nodes to compare with. Use it if the user must not learn that other nodes exist.
    """
    stem = slugify(wanted)[: LONGEST - 8] or "page"
    for first in count(1, TRIED):
        tried = [stem if number == 1 else f"{stem}-{number}" for number in range(first, first + TRIED)]
        place = {"metadata.parent_id": parent_id, "metadata.slug": {"$in": tried}}
        documents = database()[collection].find({**place, **(among or {})}, {"metadata.slug": 1, "_id": 0})
        taken = {document["metadata"]["slug"] for document in documents}
        for slug in tried:
            if slug not in taken and not conflicts_with_route(slug, parent_id):
                return slug
    raise AssertionError("numbers do not end")
