"""The current time, with the precision that MongoDB stores."""

from datetime import UTC, datetime


def now() -> datetime:
    """Return the current time as an aware UTC datetime, truncated to the millisecond precision that MongoDB stores."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
