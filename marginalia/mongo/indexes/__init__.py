"""Plans that make the existing indexes and validators match the declarations. A plan is a list of steps."""

from marginalia.mongo.indexes.changes import Change
from marginalia.mongo.indexes.planning import (
    CannotBuild,
    FormerFormat,
    apply_change,
    changes_of,
    ensure,
    plan,
    require_present_format,
)

__all__ = [
    "CannotBuild",
    "Change",
    "FormerFormat",
    "changes_of",
    "ensure",
    "plan",
    "require_present_format",
    "apply_change",
]
