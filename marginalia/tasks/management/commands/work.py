"""`manage.py work`: run the jobs in the queue."""

import signal
import threading
import time
from argparse import ArgumentParser
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from typing import Any

from django.core.management.base import CommandError
from django.utils.module_loading import autodiscover_modules
from pymongo.errors import PyMongoError

from marginalia.mongo import servers
from marginalia.mongo.connection import time_limit
from marginalia.mongo.management.base import MongoCommand, problems_error
from marginalia.tasks import queue, worker
from marginalia.tasks.backend import databases

# Maximum number of seconds that a worker needs to remove its report before it exits, even if the database hangs.
LEAVING_SECONDS = 1.0


class Command(MongoCommand):
    help = (
        "Run jobs as they become due, until the command is interrupted. With --once, run only the jobs that are "
        "currently due. Use --once if you start the command from cron."
    )
    # The queues from which to claim jobs. If this is empty, jobs are claimed from all queues.
    queues: tuple[str, ...] = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="exit when no more jobs are due")
        parser.add_argument(
            "--failed", action="store_true", help="list the jobs that failed permanently, and run nothing"
        )
        parser.add_argument("--retry-failed", action="store_true", help="also retry the jobs that failed permanently")
        parser.add_argument(
            "--delete-failed", action="store_true", help="delete the jobs that failed permanently, and run nothing"
        )
        parser.add_argument(
            "--database", default="", help="alias of a database connection (default: all connections with a queue)"
        )
        parser.add_argument(
            "--queue", action="append", default=[], metavar="NAME", help="run only jobs in this queue (can be repeated)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        aliases = databases()
        if options["database"]:
            if options["database"] not in aliases:
                raise CommandError(
                    f"TASKS has no queue in {options['database']!r}. Specify one of: {', '.join(aliases)}."
                )
            aliases = [options["database"]]
        for alias in aliases:
            servers.report_outage(alias)
        if options["failed"]:
            self._list(aliases)
            return
        if options["delete_failed"]:
            self.stdout.write(self.style.SUCCESS(f"{sum(map(queue.delete_failures, aliases))} failed jobs deleted."))
            return
        if options["retry_failed"]:
            self.stdout.write(f"{sum(map(queue.retry_failures, aliases))} failed jobs will be retried.")
        self.queues = tuple(options["queue"])
        autodiscover_modules("tasks")
        stopping = threading.Event()
        if threading.current_thread() is threading.main_thread():
            for name in (signal.SIGTERM, signal.SIGINT):
                signal.signal(name, lambda *_: stopping.set())
        if options["once"]:
            number = self._work(aliases, stopping, once=True)
        else:
            worker.begin_beside(stopping)
            number = self.run(aliases, stopping)
            for alias in aliases:
                # The doctor ignores an old report after some minutes.
                with suppress(PyMongoError), time_limit(LEAVING_SECONDS, alias):
                    queue.leave(alias)
        self.stdout.write(self.style.SUCCESS(f"{number} jobs run."))

    def run(self, aliases: list[str], stopping: threading.Event) -> int:
        """Run jobs until `stopping` is set. Return the number of jobs that were run.

        A second thread runs only urgent jobs. While the database is unavailable, both threads wait for it. If one of
        them raises any other exception, the other thread stops, and this method raises the exception.
        """
        with ThreadPoolExecutor(1) as pool:
            urgent = pool.submit(self._urgent, aliases, stopping)
            try:
                number = self._work(aliases, stopping, once=False)
            finally:
                stopping.set()
            return number + urgent.result()

    def _urgent(self, aliases: list[str], stopping: threading.Event) -> int:
        number = 0
        patience = worker.Patience(stopping)
        try:
            while not stopping.is_set():
                with patience.waiting():
                    if any(worker.work(alias, queues=self.queues, urgent_only=True) for alias in aliases):
                        number += 1
                    else:
                        stopping.wait(worker.PAUSE)
        finally:
            stopping.set()
        return number

    def _work(self, aliases: list[str], stopping: threading.Event, *, once: bool) -> int:
        number = 0
        patience = worker.Patience(stopping)
        due = 0.0
        soon = 0.0
        while not stopping.is_set():
            with nullcontext() if once else patience.waiting():
                if time.monotonic() >= due:
                    worker.tend(aliases)
                    due = time.monotonic() + worker.ROUND
                if time.monotonic() >= soon:
                    worker.follow(aliases)
                    soon = time.monotonic() + worker.PAUSE
                if any(worker.work(alias, queues=self.queues) for alias in aliases):
                    number += 1
                elif once:
                    break
                else:
                    stopping.wait(worker.PAUSE)
        return number

    def _list(self, aliases: list[str]) -> None:
        failures = [job for alias in aliases for job in queue.failures(alias=alias)]
        for job in failures:
            self.stdout.write(f"{job.id}  {job.name}  {job.tries} tries  {job.error}")
        if failures:
            raise problems_error(f"{len(failures)} jobs failed.")
        self.stdout.write("No job failed.")
