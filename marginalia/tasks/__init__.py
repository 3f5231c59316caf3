"""A MongoDB backend for Django's Tasks framework: TASKS = {"default": {"BACKEND": "marginalia.tasks.MongoDBBackend"}}.

See docs/how-to/use-the-task-queue.md.
"""

from marginalia.tasks.backend import RETRIES_FOR_A_DAY, URGENT, MongoDBBackend, Task, task
from marginalia.tasks.running import Postponed, needing, once, once_more

__all__ = [
    "RETRIES_FOR_A_DAY",
    "URGENT",
    "MongoDBBackend",
    "Postponed",
    "Task",
    "needing",
    "once",
    "once_more",
    "task",
]
