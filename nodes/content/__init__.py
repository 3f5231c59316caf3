"""Content types: fields, base classes, and the registry.

An app declares its types in its `content` module:

    @register
    class Recipe(Entry):
        '''A dish that can be cooked from its page.'''

        servings = models.PositiveSmallIntegerField(default=2)

Types can use Django's fields and the fields of the database backend. Values are stored in `metadata.detail`. Forms,
lists and search are derived from the fields.
"""

from importlib import import_module
from typing import Any

from nodes.content.base import (
    BY_HAND,
    BY_NAME,
    HTML,
    MARKDOWN,
    NEWEST,
    PHOTOS,
    UPCOMING,
    Content,
    Entry,
    Missing,
    NodeField,
    Page,
    Part,
    PhotoField,
    Section,
    upgrade,
)
from nodes.content.declared_fields import MarkdownField
from nodes.content.registry import CONTENT, TOP_LEVEL, get, may_hold, register, types, types_to_write, unregister
from nodes.content.routes import route
from nodes.content.shipped import (
    FILE,
    PHOTO,
    AuthorPage,
    BasicPage,
    Blog,
    BlogEntry,
    FileContent,
    Folder,
    Gallery,
    PhotoContent,
)

__all__ = [
    "BY_HAND",
    "BY_NAME",
    "CONTENT",
    "HTML",
    "MARKDOWN",
    "NEWEST",
    "FILE",
    "PHOTO",
    "PHOTOS",
    "TOP_LEVEL",
    "UPCOMING",
    "AuthorPage",
    "BasicPage",
    "Blog",
    "BlogEntry",
    "Content",
    "Entry",
    "Folder",
    "Gallery",
    "Insert",
    "MarkdownField",
    "Missing",
    "NodeField",
    "Page",
    "Part",
    "FileContent",
    "PhotoContent",
    "PhotoField",
    "Section",
    "get",
    "insert",
    "may_hold",
    "register",
    "route",
    "types",
    "types_to_write",
    "unregister",
    "upgrade",
]


def __getattr__(name: str) -> Any:
    # Apps import inserts from this module, too. Inserts use content type fields, so importing inserts at the top would
    # cause a circular import.
    if name in ("Insert", "insert"):
        return getattr(import_module("marginalia.markup.inserts"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
