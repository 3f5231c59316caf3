"""Discussions under any object, kept in one of three MongoDB schemas behind one contract."""

from comments.targets import register, unregister

__all__ = ["register", "unregister"]
