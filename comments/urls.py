"""URLs of comments: include these under a prefix, before any route that takes everything."""

from collections.abc import Callable

from django.http import HttpResponse
from django.urls import URLPattern
from django.urls import path as route

from marginalia.comments import feeds
from marginalia.comments.converters import OF, ONE
from marginalia.comments.moderation.views import approve
from marginalia.comments.notices import views as subscribing
from marginalia.comments.posting import change_views
from marginalia.comments.posting import views as posting
from marginalia.comments.reading import views as reading
from marginalia.comments.views import answered


def path(where: str, view: Callable[..., HttpResponse], name: str) -> URLPattern:
    """Return the route to a view that answers whatever goes wrong with a comment."""
    return route(where, answered(view), name=name)


urlpatterns = [
    path("post", posting.post, name="comments-post-comment"),
    path(f"form/{OF}", posting.form, name="comments-form"),
    path(f"posted/{ONE}", posting.done, name="comments-comment-done"),
    path(f"on/{OF}", reading.discussion, name="comments-discussion"),
    path(f"c/{ONE}", reading.permalink, name="comments-url-redirect"),
    path(f"thread/{ONE}", reading.thread, name="comments-thread"),
    path("mine", reading.mine, name="comments-mine"),
    path(f"edit/{ONE}", change_views.edit, name="comments-edit"),
    path(f"delete/{ONE}", change_views.delete, name="comments-delete"),
    path(f"flag/{ONE}", change_views.flag, name="comments-flag"),
    path("approve/<str:held_id>", approve, name="comments-approve"),
    path("subscribe/<str:signed>", subscribing.subscribe, name="comments-subscribe"),
    path("unsubscribe/<str:signed>", subscribing.unsubscribe, name="comments-unsubscribe"),
    path(f"feed/{OF}", feeds.discussion, name="comments-feed"),
]
