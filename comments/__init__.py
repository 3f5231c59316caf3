"""Discussions under any object, kept in storage layouts on MongoDB behind one contract."""

from comments.targets import register, unregister

__all__ = ["register", "unregister"]
