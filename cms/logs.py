"""Logs as lines: one for each event, with the request it belongs to, an error with its cause."""

import logging
from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="-")


class OneLineFormatter(logging.Formatter):
    """`time level logger request-id message`; an exception as its chain of causes, innermost frame first named."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name} {request_id} {message}", style="{")

    def format(self, record: logging.LogRecord) -> str:
        record.request_id = request_id.get()
        line = super().format(record)
        return line.replace("\n", " ⏎ ")

    def formatException(self, ei: object) -> str:  # noqa: N802 - the name is the base class's
        error = ei[1] if isinstance(ei, tuple) else None
        causes: list[str] = []
        while isinstance(error, BaseException):
            causes.append(f"{type(error).__name__}: {error}{_where(error)}")
            error = error.__cause__ or error.__context__
        return "; caused by ".join(causes)


def _where(error: BaseException) -> str:
    traceback = error.__traceback__
    while traceback and traceback.tb_next:
        traceback = traceback.tb_next
    if traceback is None:
        return ""
    code = traceback.tb_frame.f_code
    return f" (in {code.co_qualname}, {code.co_filename.rpartition('/')[2]}:{traceback.tb_lineno})"
