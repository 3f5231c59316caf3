"""URL converters."""

from django.urls import register_converter

from nodes.selectors import routes


class NodeRouteConverter:
    """A converter for paths that match a route of a content type, so that other URLs don't cause any queries."""

    regex = ".+"

    def to_python(self, value: str) -> str:
        if not routes.may_match(value):
            raise ValueError(value)
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(NodeRouteConverter, "noderoute")
