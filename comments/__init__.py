"""Discussions about objects of any model, stored in MongoDB. All storage layouts fulfil the same contract."""

from marginalia.comments.targets import register, unregister

__all__ = ["register", "unregister"]
