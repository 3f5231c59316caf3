"""The doctor: looks at a running system and says what is wrong, what may become wrong, and what to do about it.

Checks are functions registered by `check`; each app may have a `doctor` module with checks and hot queries of its own.
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
