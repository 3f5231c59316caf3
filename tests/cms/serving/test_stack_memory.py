"""Stack memory: no loop allocates memory from the system at each turn, however deep in the stack it runs."""

import resource
import threading

import cms.wsgi
from cms.serving.stack_memory import with_stack_memory

TURNS, DEEPEST = 500, 400


def most_faults():
    """Return the page faults of a loop of calls at the worst of all possible stack depths."""

    def called():
        pass

    # Larger than a step to the next depth, so that no depth skips the end of a chunk.
    called.__code__ = called.__code__.replace(co_stacksize=200)

    def loop():
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        for _turn in range(TURNS):
            called()
        return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before

    def deeper(depth):
        return max(loop(), deeper(depth - 1) if depth else 0)

    return deeper(DEEPEST)


def in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_calls_at_any_depth_allocate_no_stack_each_time():
    assert in_thread(with_stack_memory(most_faults)) < TURNS / 10


def test_request_runs_with_a_preallocated_stack(monkeypatch):
    monkeypatch.setattr(cms.wsgi, "django", lambda environ, start: [most_faults()])
    assert in_thread(lambda: cms.wsgi.application({"REQUEST_METHOD": "GET"}, print)[0]) < TURNS / 10
