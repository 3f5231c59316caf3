"""Path converters for URLs of comments: labels, primary keys and slugs."""

from django.urls import register_converter


class LabelConverter:
    """The label of a model, "app.model"."""

    regex = r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class KeyConverter(LabelConverter):
    """A primary key as a str.

    It is matched as short as possible, because the slug of a reply also contains slashes.
    """

    regex = ".+?"


class SlugConverter(LabelConverter):
    """The slug of a comment: parts of 16 characters.

    No slug contains "1", so a placeholder of ones can stand for a slug when URLs are reversed.
    """

    regex = r"[a-z1-7]{16}(?:/[a-z2-7]{16})*"


register_converter(LabelConverter, "label")
register_converter(KeyConverter, "commentkey")
register_converter(SlugConverter, "commentslug")

TARGET_PATH = "<label:label>/<commentkey:pk>"
COMMENT_PATH = f"{TARGET_PATH}/<commentslug:slug>"
