"""URL converters."""

from bson import ObjectId
from django.urls import register_converter
from django.urls.converters import StringConverter

# What no slug contains: controls, spaces, and every ASCII sign but hyphen and underscore.
_NO_SLUG = r"\x00-\x2c\x2e\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\xa0"


class ObjectIdConverter:
    """24 hexadecimal digits; what is no id finds no page instead of failing in a query."""

    regex = "[0-9a-f]{24}"

    def to_python(self, value: str) -> ObjectId:
        return ObjectId(value)

    def to_url(self, value: ObjectId | str) -> str:
        return str(value)


class NodePathConverter(StringConverter):
    """The path of a node: what may be slugs, between single slashes; no dots, so that no file is asked for in vain."""

    regex = f"[^{_NO_SLUG}]+(?:/[^{_NO_SLUG}]+)*"


class NodePartConverter(StringConverter):
    """One part of such a path."""

    regex = f"[^{_NO_SLUG}]+"


class TagConverter(StringConverter):
    """A tag, which may contain slashes ("TCP/IP") but does not begin or end with one."""

    regex = r"[^\x00-\x1f/](?:[^\x00-\x1f]*[^\x00-\x1f/])?"


class YearConverter:
    """The four digits of a year from 1000 to 2999."""

    regex = "[12][0-9]{3}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return f"{value:04d}"


class MonthConverter:
    """Two digits, 01 to 12."""

    regex = "0[1-9]|1[0-2]"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return f"{value:02d}"


register_converter(ObjectIdConverter, "objectid")
register_converter(NodePathConverter, "nodepath")
register_converter(NodePartConverter, "nodepart")
register_converter(TagConverter, "tag")
register_converter(YearConverter, "year")
register_converter(MonthConverter, "month")
