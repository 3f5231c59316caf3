"""URL converters."""

from bson import ObjectId
from django.urls import register_converter
from django.urls.converters import StringConverter

# The characters that slugs never contain: control characters, spaces, and ASCII punctuation except hyphens and
# underscores.
_NOT_IN_SLUGS = r"\x00-\x2c\x2e\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\xa0"


class ObjectIdConverter:
    """A converter for ids with 24 hexadecimal digits. Nothing else matches, so queries never contain an invalid id."""

    # Since version 6.0.3, django-mongodb-backend has provided this converter as "object_id". Use it once support for
    # Django 5.2 is dropped.
    regex = "[0-9a-f]{24}"

    def to_python(self, value: str) -> ObjectId:
        return ObjectId(value)

    def to_url(self, value: ObjectId | str) -> str:
        return str(value)


class NodePathConverter(StringConverter):
    """A converter for the path of a node, which consists of slugs separated by single slashes.

    Dots don't match, so that requests for files don't query the database needlessly.
    """

    regex = f"[^{_NOT_IN_SLUGS}]+(?:/[^{_NOT_IN_SLUGS}]+)*"


class NodePartConverter(StringConverter):
    """A converter for one slug in the path of a node."""

    regex = f"[^{_NOT_IN_SLUGS}]+"


class TagConverter(StringConverter):
    """A converter for a tag. A tag can contain slashes ("TCP/IP"), but can't begin or end with a slash."""

    regex = r"[^\x00-\x1f/](?:[^\x00-\x1f]*[^\x00-\x1f/])?"


class YearConverter:
    """A converter for years from 1000 to 2999."""

    regex = "[12][0-9]{3}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return f"{value:04d}"


class MonthConverter:
    """A converter for months from 01 to 12."""

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
