"""Comments that wait for a moderator, where a writer stops at a bad moment."""

import pytest

from comments.types import Verdict
from tests.comments import audit
from tests.comments.contract import new
from tests.comments.interruptions import Crash
from tests.comments.layouts import configure


@pytest.mark.parametrize("verdict", [Verdict.REJECTED, Verdict.SPAM, Verdict.WAITING])
def test_what_the_queue_calls_rejected_is_not_public(mongo, settings, target, monkeypatch, verdict):
    """Another moderator stopped between publishing and saying so: to this one it still waited."""
    backend = configure(settings)
    held = backend.hold(target, new("held")).held

    def dying(*args):
        raise Crash

    with monkeypatch.context() as stopped:
        stopped.setattr(backend.holding, "decide", dying)
        with pytest.raises(Crash):
            backend.approve(held.id)
    assert backend.reject(held.id, verdict=verdict).verdict is verdict
    is_left = verdict is Verdict.WAITING
    assert [c.source for c in backend.iterate(target) if not c.removed] == ["held"] * is_left
    audit.stored(target, "auth_user")
