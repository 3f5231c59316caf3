"""Plans that turn the existing indexes and validators into the declared ones. Plans are data, applied step by step."""

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
