"""Inserts: elements that editors put into a text with a directive, such as `::gallery{section=node:…}`.

An insert is a class with attributes (Django form fields) and a template. The module `base` contains the registry,
`shipped` the built-in inserts, and `reading` finds the inserts of a text.
"""

from marginalia.markup.inserts import shipped  # noqa: F401 - registers them
from marginalia.markup.inserts.base import Insert, insert

__all__ = ["Insert", "insert"]
