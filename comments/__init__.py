"""Discussions about any kind of object, stored in MongoDB. All storage layouts fulfil the same contract."""

from marginalia.comments.targets import register, unregister

__all__ = ["register", "unregister"]
