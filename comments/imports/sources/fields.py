"""Read values from exports, whose fields can be missing or have another type."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from marginalia.comments.imports.records import BrokenSource
from marginalia.markup.characters import scrub


def text(values: Mapping[str, Any], name: str) -> str:
    """Return a value as text without control characters, or "" if it is missing or null."""
    value = values.get(name)
    return "" if value is None else scrub(str(value))


def number(values: Mapping[str, Any], name: str) -> int:
    """Return a value as an int, or 0 if it is missing or not a number."""
    value = values.get(name)
    return int(value) if isinstance(value, int | float) and abs(value) < 2**31 else 0


def time(value: object, place: str) -> datetime:
    """Return a time in ISO 8601, or in seconds since 1970. Times without a time zone are in UTC.

    Raises:
        BrokenSource: The value is no time. The message contains `place`.
    """
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC)
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise BrokenSource(f"{place}: “{value}” is not a time.") from error
