"""Discussions under any object, kept in storage layouts on MongoDB behind one contract."""

from marginalia.comments.targets import register, unregister

__all__ = ["register", "unregister"]
