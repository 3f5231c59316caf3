"""Workers killed at each step, and concurrent workers: each task runs to its end, and one with a key once."""

from functools import partial

import pytest
from django.db import connection

from marginalia.mongo.connection import database
from marginalia.tasks import queue, worker
from marginalia.tasks.compat import tasks
from tests.support.crashing import killed_after_writes
from tests.support.processes import python
from tests.tasks.examples import attempt, write, write_once

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("mongo")]

SUCCESSFUL = tasks.TaskResultStatus.SUCCESSFUL
# The commands of a worker for one job: find jobs of dead workers, take the job, run its task, end the job.
RUN, END = 2, 3
JOB = 4


def run_all():
    while worker.work():
        pass


def runs(name: str) -> int:
    found = database()["runs"].find_one({"_id": name})
    return found["runs"] if found else 0


@pytest.mark.parametrize("step", range(2 * JOB))
def test_task_killed_at_each_step_runs_to_its_end(step, clock):
    result = write.enqueue("plain")
    keyed = [write.using(key="k").enqueue("keyed") for _ in range(2)]
    assert killed_after_writes(step, run_all)
    # Enqueuing again after a crash adds nothing.
    assert write.using(key="k").enqueue("keyed").id == keyed[0].id == keyed[1].id
    clock(queue.LEASE)
    run_all()
    for first, name, ended in ((0, "plain", result), (JOB, "keyed", keyed[0])):
        ended = write.get_result(ended.id)
        assert (ended.status, ended.args) == (SUCCESSFUL, [])
        assert ended.attempts == (2 if step - first in (RUN, END) else 1)
        # Only a task whose worker was killed between its end and the record of it runs again.
        assert runs(name) == (2 if step - first == END else 1)
    before = runs("keyed")
    write.using(key="k").enqueue("keyed")
    run_all()
    assert runs("keyed") == before


def test_work_marked_with_once_is_never_done_twice(clock):
    step = 0
    counted = []
    result = write_once.enqueue(str(step))
    while killed_after_writes(step, run_all):
        clock(queue.LEASE)
        run_all()
        result.refresh()
        assert result.status == SUCCESSFUL
        counted.append(runs(str(step)))
        step += 1
        result = write_once.enqueue(str(step))
    # Lost if the worker is killed between the mark and the work.
    assert counted == [1, 1, 1, 0, 1, 1]


def test_failed_try_killed_at_each_step_is_tried_again(clock, seen):
    for step in range(2):
        result = attempt.enqueue()
        assert killed_after_writes(step, worker.work)
        for _ in range(3):
            clock(queue.LEASE)
            worker.work()
        result.refresh()
        # A killed worker costs a try.
        assert (result.is_finished, result.attempts) == (True, 2)


def test_enqueuing_killed_before_its_write_can_be_repeated(mongo):
    enqueue = partial(write.using(key="k").enqueue, "keyed")
    assert killed_after_writes(0, enqueue)
    assert mongo.jobs.count_documents({}) == 0
    assert not killed_after_writes(1, enqueue)
    enqueue()
    run_all()
    assert (runs("keyed"), mongo.jobs.count_documents({})) == (1, 1)


def test_processes_that_race_run_each_job_once(mongo):
    for n in range(40):
        write.enqueue(str(n % 20))
    code = """if True:
        import django
        django.setup()
        from django.core.management import call_command
        from tests.tasks.examples import write
        input()
        for n in range(20):
            write.using(key=f"k{n}").enqueue(f"k{n}")
        call_command("work", "--once")
        """
    environment = {"DJANGO_SETTINGS_MODULE": "tests.settings", "TEST_MONGODB_NAME": connection.settings_dict["NAME"]}
    workers = [python(code, **environment) for _ in range(3)]
    for process in workers:
        process.stdin.write("go\n")
        process.stdin.flush()
    taken = [process.communicate(timeout=240)[0] for process in workers]
    assert [process.returncode for process in workers] == [0, 0, 0], taken
    assert {runs(str(n)) for n in range(20)} == {2}
    assert {runs(f"k{n}") for n in range(20)} == {1}
    assert mongo.jobs.count_documents({"state": queue.DONE}) == mongo.jobs.count_documents({}) == 60
