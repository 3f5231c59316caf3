"""What stands in URLs of comments: labels, keys, slugs."""

from django.urls import register_converter


class LabelConverter:
    """A model's label: "app.model"."""

    regex = r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class KeyConverter(LabelConverter):
    """A primary key as a str, as short as the rest allows: a reply's slug has slashes too."""

    regex = ".+?"


class SlugConverter(LabelConverter):
    """A comment's slug: parts of 16 characters. "1" is in none and stands for one while URLs are made."""

    regex = r"[a-z1-7]{16}(?:/[a-z2-7]{16})*"


register_converter(LabelConverter, "label")
register_converter(KeyConverter, "commentkey")
register_converter(SlugConverter, "commentslug")

OF = "<label:label>/<commentkey:pk>"
ONE = f"{OF}/<commentslug:slug>"
