"""Indexes and validators, declared against existing: a plan as data, carried out step by step."""

from mongo.indexes.changes import Change
from mongo.indexes.planning import CannotBuild, changes_of, ensure, plan, take

__all__ = ["CannotBuild", "Change", "changes_of", "ensure", "plan", "take"]
