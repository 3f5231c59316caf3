"""The tags of `{% load comments %}`, for projects in which another app, such as django_comments, uses that name."""

from marginalia.comments.templatetags.comments import register

__all__ = ["register"]
