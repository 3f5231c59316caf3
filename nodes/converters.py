"""URL converters."""

from bson import ObjectId
from django.urls import register_converter
from django.urls.converters import StringConverter

# Characters that no slug contains: control characters, spaces, and all ASCII punctuation except hyphen and underscore.
_NOT_IN_SLUGS = r"\x00-\x2c\x2e\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\xa0"


class ObjectIdConverter:
    """Converter for 24 hexadecimal digits. Nothing else matches, so no query fails with an invalid id."""

    regex = "[0-9a-f]{24}"

    def to_python(self, value: str) -> ObjectId:
        return ObjectId(value)

    def to_url(self, value: ObjectId | str) -> str:
        return str(value)


class NodePathConverter(StringConverter):
    """Converter for the path of a node, which consists of possible slugs with single slashes between them.

    Dots don't match, so that requests for files don't query the database needlessly.
    """

    regex = f"[^{_NOT_IN_SLUGS}]+(?:/[^{_NOT_IN_SLUGS}]+)*"


class NodePartConverter(StringConverter):
    """Converter for one part of the path of a node."""

    regex = f"[^{_NOT_IN_SLUGS}]+"


class TagConverter(StringConverter):
    """Converter for a tag, which can contain slashes ("TCP/IP"), but doesn't begin or end with one."""

    regex = r"[^\x00-\x1f/](?:[^\x00-\x1f]*[^\x00-\x1f/])?"


class YearConverter:
    """Converter for the four digits of a year from 1000 to 2999."""

    regex = "[12][0-9]{3}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return f"{value:04d}"


class MonthConverter:
    """Converter for the two digits of a month, 01 to 12."""

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
