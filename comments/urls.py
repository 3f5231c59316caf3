"""Addresses of comments: include these under a prefix, before any route that takes everything."""

from django.urls import path, register_converter

from comments import feeds
from comments.views import changing, posting, reading, subscribing


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
    """A comment's slug: parts of 16 characters. "1" is in none and stands for one while addresses are made."""

    regex = r"[a-z1-7]{16}(?:/[a-z2-7]{16})*"


register_converter(LabelConverter, "label")
register_converter(KeyConverter, "commentkey")
register_converter(SlugConverter, "commentslug")

OF = "<label:label>/<commentkey:pk>"
ONE = f"{OF}/<commentslug:slug>"

urlpatterns = [
    path("post", posting.post, name="comments-post-comment"),
    path(f"form/{OF}", posting.form, name="comments-form"),
    path(f"posted/{ONE}", posting.done, name="comments-comment-done"),
    path(f"on/{OF}", reading.discussion, name="comments-discussion"),
    path(f"c/{ONE}", reading.permalink, name="comments-url-redirect"),
    path(f"thread/{ONE}", reading.thread, name="comments-thread"),
    path("mine", reading.mine, name="comments-mine"),
    path(f"edit/{ONE}", changing.edit, name="comments-edit"),
    path(f"delete/{ONE}", changing.delete, name="comments-delete"),
    path(f"flag/{ONE}", changing.flag, name="comments-flag"),
    path("approve/<str:held_id>", changing.approve, name="comments-approve"),
    path("subscribe/<str:signed>", subscribing.subscribe, name="comments-subscribe"),
    path("unsubscribe/<str:signed>", subscribing.unsubscribe, name="comments-unsubscribe"),
    path(f"feed/{OF}", feeds.discussion, name="comments-feed"),
]
