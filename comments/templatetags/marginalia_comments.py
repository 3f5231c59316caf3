"""The tags of `{% load comments %}` under another name.

Use this name in projects that have another tag library called `comments`.
"""

from marginalia.comments.templatetags.comments import register

__all__ = ["register"]
