"""Room for frames: a loop does not ask the system for memory at each turn, however deep it stands."""

import resource
import threading
from types import SimpleNamespace
from unittest.mock import Mock

from cms.serving.frames import with_room
from cms.serving.workers import Threaded, Threads

TURNS, DEEPEST = 500, 400


def most_faults():
    """Return how many pages a loop of calls touches anew where that is worst, of all depths at which it may stand."""

    def called():
        pass

    # Larger than a step to the next depth, so that none passes the end of a piece over.
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


def test_no_depth_costs_a_piece_of_memory_at_each_call():
    assert in_thread(with_room(most_faults)) < TURNS / 10


def test_each_thread_of_waitress_has_room():
    class Task:
        def service(self):
            self.faults = most_faults()
            done.set()

    done, task, threads = threading.Event(), Task(), Threads()
    threads.set_thread_count(1)
    threads.add_task(task)
    assert done.wait(10)
    threads.shutdown()
    assert task.faults < TURNS / 10


def test_a_thread_of_gunicorn_has_room_for_what_a_connection_asks():
    class Answering(Threaded):
        def __init__(self):
            pass

        def handle_http2(self, conn):
            return most_faults()

    connection = SimpleNamespace(initialized=True, sock=Mock(), init=Mock(), is_http2=True)
    assert in_thread(lambda: Answering().handle(connection)) < TURNS / 10
