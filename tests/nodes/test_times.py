"""Relative times as editors read them."""

from datetime import timedelta

import pytest

from marginalia.mongo.clock import now
from nodes import times


@pytest.mark.parametrize(
    ("passed", "text"),
    [(timedelta(), "just now"), (timedelta(seconds=59), "just now"), (timedelta(minutes=5), "5\xa0minutes ago")],
)
def test_time_within_a_minute_is_just_now(passed, text):
    moment = now()
    assert times.ago(moment - passed, moment) == text
