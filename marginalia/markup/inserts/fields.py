"""Form fields for the attributes of inserts."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from bson import ObjectId
from django import forms
from django.utils.translation import gettext_lazy as _

from marginalia.markup.html import links

_NODE = re.compile(r"node:([0-9a-f]{24})")


class NodeIdField(forms.CharField):
    """The id of a node, written as `node:ID`. `types` restricts which nodes the editor's menu offers."""

    prefix: ClassVar[str] = "node:"

    def __init__(self, *, types: Sequence[str] = (), **kwargs: Any) -> None:
        self.types = tuple(types)
        super().__init__(**kwargs)

    def clean(self, value: Any) -> ObjectId | None:
        text = str(super().clean(value)).removeprefix(self.prefix)
        if text and not ObjectId.is_valid(text):
            raise forms.ValidationError(_("Enter %(prefix)s followed by an id."), params={"prefix": self.prefix})
        return ObjectId(text) if text else None


class FileIdField(NodeIdField):
    """The id of a file, written as `node:ID`."""


class PhotoIdField(NodeIdField):
    """The id of a photo, written as `photo:ID`."""

    prefix = "photo:"


class PhotoIdsField(forms.CharField):
    """The ids of up to `most` photos, written as `photo:ID,photo:ID`."""

    def __init__(self, *, most: int, **kwargs: Any) -> None:
        self.most = most
        super().__init__(**kwargs)

    def clean(self, value: Any) -> tuple[ObjectId, ...]:
        names = [name.strip() for name in str(super().clean(value)).split(",") if name.strip()]
        if len(names) > self.most:
            raise forms.ValidationError(_("Too many photos. Use at most %(most)d."), params={"most": self.most})
        id_field = PhotoIdField()
        return tuple(found for name in names if (found := id_field.clean(name)))


class AddressField(forms.CharField):
    """The target of a link: a URL, a path on this site, or `node:ID`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=1_000, **kwargs)

    def clean(self, value: Any) -> str:
        address = str(super().clean(value))
        if not links.is_allowed(address) and not _NODE.fullmatch(address):
            raise forms.ValidationError(
                _("Enter a URL such as https://example.org/ or /about, or node: followed by an id.")
            )
        return address

    @staticmethod
    def node(address: str) -> ObjectId | None:
        """Return the id if `address` is `node:ID`, or None otherwise."""
        found = _NODE.fullmatch(address)
        return ObjectId(found[1]) if found else None
