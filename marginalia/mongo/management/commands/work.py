"""Run the jobs in the queue."""

import signal
import threading
import time
from argparse import ArgumentParser
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from marginalia.mongo import jobs, servers
from marginalia.mongo.management.base import MongoCommand, problems_error


class Command(MongoCommand):
    help = "Do jobs as they come, until interrupted; with --once those that are due now, for cron."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="end when nothing more is due")
        parser.add_argument("--failed", action="store_true", help="list the jobs that failed permanently, do nothing")
        parser.add_argument("--retry-failed", action="store_true", help="try the failed ones again first")
        parser.add_argument(
            "--delete-failed", action="store_true", help="delete the jobs that --failed lists, do nothing"
        )
        parser.add_argument(
            "--database", default="", help="alias of a connection; without it, every one that has a queue"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        aliases = [options["database"]] if options["database"] else jobs.aliases()
        for alias in aliases:
            servers.report_outage(alias)
        if options["failed"]:
            self._list(aliases)
            return
        if options["delete_failed"]:
            self.stdout.write(self.style.SUCCESS(f"{sum(map(jobs.delete_failures, aliases))} failed jobs deleted."))
            return
        if options["retry_failed"]:
            self.stdout.write(f"{sum(map(jobs.retry_failures, aliases))} failed jobs will be tried again.")
        stopping = threading.Event()
        if threading.current_thread() is threading.main_thread():
            for name in (signal.SIGTERM, signal.SIGINT):
                signal.signal(name, lambda *_: stopping.set())
        if options["once"]:
            number = self._work(aliases, stopping, once=True)
        else:
            jobs.begin_beside(stopping)
            number = self.run(aliases, stopping)
            jobs.leave(aliases)
        self.stdout.write(self.style.SUCCESS(f"{number} jobs taken."))

    def run(self, aliases: list[str], stopping: threading.Event) -> int:
        """Run jobs until `stopping` is set, emails also in a separate thread; return the number of jobs.

        An exception in one of the two loops ends the other and is raised.
        """
        with ThreadPoolExecutor(1) as pool:
            mails = pool.submit(self._mail, aliases, stopping)
            try:
                number = self._work(aliases, stopping, once=False)
            finally:
                stopping.set()
            return number + mails.result()

    def _mail(self, aliases: list[str], stopping: threading.Event) -> int:
        number = 0
        try:
            while not stopping.is_set():
                if any(jobs.work(alias, mails_only=True) for alias in aliases):
                    number += 1
                else:
                    stopping.wait(jobs.PAUSE)
        finally:
            stopping.set()
        return number

    def _work(self, aliases: list[str], stopping: threading.Event, *, once: bool) -> int:
        number = 0
        due = 0.0
        soon = 0.0
        while not stopping.is_set():
            if time.monotonic() >= due:
                jobs.tend(aliases)
                due = time.monotonic() + jobs.ROUND
            if time.monotonic() >= soon:
                jobs.follow()
                soon = time.monotonic() + jobs.PAUSE
            job = next(filter(None, map(jobs.work, aliases)), None)
            if job:
                number += 1
            elif once:
                break
            else:
                stopping.wait(jobs.PAUSE)
        return number

    def _list(self, aliases: list[str]) -> None:
        failures = [job for alias in aliases for job in jobs.failures(alias=alias)]
        for job in failures:
            self.stdout.write(f"{job.id}  {job.kind}  {job.tries} tries  {job.error}")
        if failures:
            raise problems_error(f"{len(failures)} jobs failed.")
        self.stdout.write("No job failed.")
