"""URL path converters for comments: labels, primary keys and slugs."""

from django.urls import register_converter


class LabelConverter:
    """A path converter for model labels, such as "app.model"."""

    regex = r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class KeyConverter(LabelConverter):
    """A path converter for primary keys as str.

    The pattern is not greedy. Otherwise, it would also match the beginning of a reply's slug, which contains slashes.
    """

    regex = ".+?"


class SlugConverter(LabelConverter):
    """A path converter for comment slugs, which consist of parts of 16 characters each.

    Real slugs never contain the digit "1". Therefore, "1111111111111111" can be used as a placeholder for a slug when a
    URL is reversed.
    """

    regex = r"[a-z1-7]{16}(?:/[a-z2-7]{16})*"


register_converter(LabelConverter, "label")
register_converter(KeyConverter, "commentkey")
register_converter(SlugConverter, "commentslug")

TARGET_PATH = "<label:label>/<commentkey:pk>"
COMMENT_PATH = f"{TARGET_PATH}/<commentslug:slug>"
