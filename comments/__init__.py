"""Discussions about any object, stored in one of several layouts on MongoDB, behind one contract."""

from marginalia.comments.targets import register, unregister

__all__ = ["register", "unregister"]
