"""The tags of `{% load comments %}`, for projects in which another app, such as django_comments, has that name."""

from marginalia.comments.templatetags.comments import register

__all__ = ["register"]
