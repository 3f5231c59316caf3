"""The doctor, which checks a running system for faults and risks, and suggests fixes.

Checks are functions registered with `check`. Each app can have a module `doctor` with checks and hot queries.
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
