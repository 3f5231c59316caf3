"""The URLs of the comment views. Include them under a prefix, before any route that matches all URLs."""

from collections.abc import Callable

from django.http import HttpResponse
from django.urls import URLPattern, path

from marginalia.comments import feeds
from marginalia.comments.converters import COMMENT_PATH, TARGET_PATH
from marginalia.comments.moderation.views import approve, manage, moderate
from marginalia.comments.notices.views import subscribe, unsubscribe
from marginalia.comments.posting.change_views import delete, edit, flag, like
from marginalia.comments.posting.views import done, form, post
from marginalia.comments.reading.outages import limited
from marginalia.comments.reading.views import discussion, mine, old_permalink, permalink, thread
from marginalia.comments.views import handle_comment_errors


def _route(route: str, view: Callable[..., HttpResponse], name: str) -> URLPattern:
    """Return a URL pattern for `view`.

    If the view raises a CommentError, or the database is unavailable, the response is an error page.
    """
    return path(route, handle_comment_errors(limited(view)), name=name)


urlpatterns = [
    _route("post", post, name="comments-post-comment"),
    _route(f"form/{TARGET_PATH}", form, name="comments-form"),
    _route(f"posted/{COMMENT_PATH}", done, name="comments-comment-done"),
    _route(f"on/{TARGET_PATH}", discussion, name="comments-discussion"),
    _route(f"c/{COMMENT_PATH}", permalink, name="comments-url-redirect"),
    _route(f"old/{TARGET_PATH}", old_permalink, name="comments-old-permalink"),
    _route(f"thread/{COMMENT_PATH}", thread, name="comments-thread"),
    _route("mine", mine, name="comments-mine"),
    _route(f"edit/{COMMENT_PATH}", edit, name="comments-edit"),
    _route(f"delete/{COMMENT_PATH}", delete, name="comments-delete"),
    _route(f"flag/{COMMENT_PATH}", flag, name="comments-flag"),
    _route(f"like/{COMMENT_PATH}", like, name="comments-like"),
    _route("approve/<str:held_id>", approve, name="comments-approve"),
    _route(f"moderate/{COMMENT_PATH}", moderate, name="comments-moderate"),
    _route(f"manage/{TARGET_PATH}", manage, name="comments-manage"),
    _route("subscribe/<str:signed>", subscribe, name="comments-subscribe"),
    _route("unsubscribe/<str:signed>", unsubscribe, name="comments-unsubscribe"),
    _route(f"feed/{TARGET_PATH}", feeds.discussion, name="comments-feed"),
]
