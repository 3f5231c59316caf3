"""The doctor, which checks a running system for problems and risks, and suggests fixes.

Checks are functions that are registered with `check`. Each app can have a `doctor` module with checks and hot queries.
"""

from marginalia.mongo.doctor.findings import (
    ADVICE,
    ERROR,
    WARNING,
    Examination,
    Finding,
    check,
    collection_check,
    examine,
)
from marginalia.mongo.doctor.queries import HotQuery

__all__ = ["ADVICE", "ERROR", "WARNING", "Examination", "Finding", "HotQuery", "check", "collection_check", "examine"]
