"""URL converters."""

from bson import ObjectId


class ObjectIdConverter:
    """24 hexadecimal digits; what is no id finds no page instead of failing in a query."""

    regex = "[0-9a-f]{24}"

    def to_python(self, value: str) -> ObjectId:
        return ObjectId(value)

    def to_url(self, value: ObjectId | str) -> str:
        return str(value)


class NodePathConverter:
    """The path of a node: what may be a slug, between single slashes; no dots, so that no file is asked for in vain."""

    regex = r"[^/.\x00-\x20][^\x00-\x20]*[^/\x00-\x20]|[^/.\x00-\x20]"

    def to_python(self, value: str) -> str:
        if "//" in value:
            raise ValueError(value)
        return value

    def to_url(self, value: str) -> str:
        return value
