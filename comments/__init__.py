"""Discussions about any object, stored in MongoDB. All storage layouts share one contract."""

from marginalia.comments.targets import register, unregister

__all__ = ["register", "unregister"]
