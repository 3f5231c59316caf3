"""Rate limits: never more than the limit, however many calls come at once."""

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from marginalia.mongo import rate_limit

pytestmark = pytest.mark.usefixtures("mongo")


def take(n, limit=5, key="k", seconds=60):
    return rate_limit.allow(key, limit=limit, seconds=seconds, token=f"t{n}")


def test_limit_is_enforced():
    assert [take(n) for n in range(8)] == [True] * 5 + [False] * 3
    assert take(1, key="other")


def test_same_token_is_counted_once():
    assert all(take(0) for _ in range(20))
    assert [take(n) for n in range(1, 8)] == [True] * 4 + [False] * 3


def test_refunded_call_can_be_made_again():
    assert [take(n, 1) for n in (0, 1)] == [True, False]
    rate_limit.refund("k", token="t0")
    assert take(1, 1)


def test_costly_call_passes_only_if_all_of_it_fits():
    def count(n, cost):
        counted = rate_limit.count("k", limit=5, seconds=60, token=f"t{n}", cost=cost)
        return counted.allowed, counted.remaining

    assert [count(0, 3), count(1, 3), count(2, 2), count(3, 1)] == [(True, 2), (False, 2), (True, 0), (False, 0)]
    rate_limit.refund("k", token="t0")
    assert count(4, 3) == (True, 0)


def test_window_slides(mongo):
    assert [take(n, 2) for n in range(3)] == [True, True, False]
    oldest = mongo.rate_limits.find_one()["passed"][0]
    earlier = oldest["at"].replace(year=oldest["at"].year - 1)
    mongo.rate_limits.update_one({"passed.token": "t0"}, {"$set": {"passed.$.at": earlier}})
    assert [take(n, 2) for n in (3, 4)] == [True, False]


def test_reset_counts_again_from_zero(mongo):
    assert [take(n, 1) for n in (0, 1)] == [True, False]
    assert (rate_limit.reset("k"), rate_limit.reset("k")) == (1, 0)
    assert take(1, 1)


def test_token_that_looks_like_an_expression_is_text():
    assert rate_limit.allow("$key", limit=1, seconds=60, token="$$ROOT")
    assert not rate_limit.allow("$key", limit=1, seconds=60, token="$passed")


def test_concurrent_threads_never_exceed_the_limit():
    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(take, range(100))) == 5


def _process(uri: str, name: str, start, n: int, passed) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django
    from django.db import connections

    django.setup()
    connections.settings["default"].update(HOST=uri, NAME=name)
    rate_limit.allow("warm", limit=1, seconds=60, token=str(n))
    start.wait()
    for i in range(5):
        passed.put(rate_limit.allow("many", limit=7, seconds=60, token=f"{n}.{i}"))


@pytest.mark.slow
def test_forty_processes_never_exceed_the_limit(mongo):
    context = multiprocessing.get_context("spawn")
    passed, start = context.Queue(), context.Barrier(40)
    arguments = os.environ["TEST_MONGODB_URI"], mongo.name, start
    processes = [context.Process(target=_process, args=(*arguments, n, passed)) for n in range(40)]
    for process in processes:
        process.start()
    answers = [passed.get(timeout=120) for _ in range(200)]
    for process in processes:
        process.join(30)
    assert sum(answers) == 7
