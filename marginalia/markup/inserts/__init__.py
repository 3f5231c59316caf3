"""Inserts: what editors put into a text by a directive, such as `::gallery{section=node:…}`.

An insert is a class that says its attributes (Django form fields) and its template; `base` has the registry, `shipped` those
of this site, `reading` finds those of a text.
"""

from marginalia.markup.inserts import shipped  # noqa: F401 - registers them
from marginalia.markup.inserts.base import Insert, insert

__all__ = ["Insert", "insert"]
