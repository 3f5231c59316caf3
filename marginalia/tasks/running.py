"""Helpers that let a task function postpone its task or do something only once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bson import ObjectId

from marginalia.tasks import queue
from marginalia.tasks.backend import MongoDBBackend
from marginalia.tasks.compat import tasks


class Postponed(Exception):
    """A task can't run now and has to be retried. The job stores the message, so it must not identify a person."""


@contextmanager
def needing(server: str) -> Iterator[None]:
    """Postpone the task if code in the block fails because a server is unavailable or rejects a request.

    The reason doesn't quote the server's message, because the message can contain an email address.

    Raises:
        Postponed: The block raised an OSError. (SMTPException is an OSError.)
    """
    try:
        yield
    except OSError as error:
        detail = getattr(error, "smtp_code", None) or error.strerror
        raise Postponed(f"{server}: {type(error).__name__}" + (f" ({detail})" if detail else "")) from error


def once(context: Any) -> bool:
    """Return True only on the first call in a job, so that work isn't done twice, even if the job's worker dies.

    With other backends, the result is always True, because they don't record earlier calls.
    """
    backend = tasks.task_backends[context.task_result.backend]
    return not isinstance(backend, MongoDBBackend) or queue.once(ObjectId(context.task_result.id), backend.database)


def once_more(context: Any) -> None:
    """Undo `once`. Call this function only if you know that the work wasn't done."""
    backend = tasks.task_backends[context.task_result.backend]
    if isinstance(backend, MongoDBBackend):
        queue.once_more(ObjectId(context.task_result.id), backend.database)
