"""Inserts: elements that editors put into a text by a directive, such as `::gallery{section=node:…}`.

An insert is a class with attributes (Django form fields) and a template. `base` has the registry, `shipped` the inserts of
this site, and `reading` finds the inserts of a text.
"""

from marginalia.markup.inserts import shipped  # noqa: F401 - registers them
from marginalia.markup.inserts.base import Insert, insert

__all__ = ["Insert", "insert"]
