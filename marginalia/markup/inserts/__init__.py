"""Inserts: elements that editors add to body text with a directive, such as `::gallery{section=node:…}`.

An insert is a class with attributes (Django form fields) and a template. `base` contains the registry, `shipped`
contains the built-in inserts, and `reading` finds the inserts in clean HTML.
"""

from marginalia.markup.inserts import shipped  # noqa: F401 - registers them
from marginalia.markup.inserts.base import Insert, insert

__all__ = ["Insert", "insert"]
