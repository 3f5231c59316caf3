"""The tags of `{% load comments %}` under another name, for projects with another tag library called `comments`."""

from marginalia.comments.templatetags.comments import register

__all__ = ["register"]
