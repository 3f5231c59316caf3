"""The spam filter that learns from moderators."""

import pytest

from marginalia.comments.moderation import pending
from marginalia.comments.notices import reasons
from marginalia.comments.posting import services, spam
from marginalia.comments.posting.learned_filter import (
    MAX_FEATURES,
    MAX_LEARNED,
    MIN_LESSONS,
    Feature,
    LearnedFilter,
)
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, HeldComment, Verdict
from marginalia.mongo.clock import now
from tests.support.comments import site
from tests.support.comments.submissions import submission

SPAM = "Win at our casino with a [bonus](https://casino.example/{n}) number {n}"
HONEST = "I read chapter {n} again, and the letters of the printer moved me"


@pytest.fixture
def hold(target):
    def hold(text: str, nonce: str) -> HeldComment:
        author = CommentAuthor("Bea")
        held = services.hold(target, author=author, source=text, token=nonce, reasons=("policy: hold-all",)).held
        assert held
        return held

    return hold


@pytest.fixture
def decided(hold):
    """Moderators have decided just enough comments of each kind."""
    for n in range(MIN_LESSONS):
        pending.reject(hold(SPAM.format(n=n), f"spam-token-{n}").id, by="1", verdict=Verdict.SPAM)
        pending.approve(hold(HONEST.format(n=n), f"honest-token-{n}").id, by="1")
    site.work()


def test_spam_is_held_with_the_words_that_weighed_most(decided):
    judgement = spam.judge(submission("Our casino has a bonus for you"))
    (reason,) = judgement.held_by
    assert reason.startswith("learned: 9")
    assert {"casino", "bonus"} <= set(reason.partition("% ")[2].split(", "))


@pytest.mark.slow
def test_honest_comment_is_not_held(decided):
    assert spam.judge(submission("Which chapter has the letters of the printer?")).held_by == ()


@pytest.mark.slow
def test_unknown_words_say_nothing(decided):
    assert spam.judge(submission("Zwölf Boxkämpfer jagen Viktor quer über den Deich")).held_by == ()


def test_filter_waits_for_enough_decisions(hold):
    for n in range(MIN_LESSONS):
        pending.reject(hold(SPAM.format(n=n), f"spam-token-{n}").id, by="1", verdict=Verdict.SPAM)
    site.work()
    assert spam.judge(submission("casino bonus")).held_by == ()


@pytest.mark.slow
def test_many_unknown_words_do_not_hide_spam(decided):
    filling = " ".join(f"filling{n}" for n in range(300))
    assert spam.judge(submission(f"casino bonus win our {filling}")).held_by


@pytest.mark.slow
def test_changed_decision_is_learned_again(decided, target, mongo):
    before = sorted(mongo["comments.features"].find({}, {"at": 0}), key=str)
    held = services.hold(target, author=CommentAuthor("Bea"), source="A casino", token="t" * 16, reasons=("x",)).held
    for verdict in (Verdict.SPAM, Verdict.SPAM, Verdict.REJECTED, Verdict.SPAM, Verdict.WAITING):
        pending.reject(held.id, by="1", verdict=verdict)
    site.work()
    counted = [
        {name: value for name, value in stored.items() if name == "_id" or value}
        for stored in mongo["comments.features"].find({}, {"at": 0})
    ]
    assert sorted((one for one in counted if len(one) > 1), key=str) == before


@pytest.mark.slow
def test_undone_approval_is_forgotten(decided, hold, mongo):
    held = hold("A letter", "one-more-token")
    pending.decide("approve", [held.id], "1")
    site.work()
    assert mongo["comments.lessons"].count_documents({"kind": "approved"}) == MIN_LESSONS + 1
    pending.decide("wait", [held.id], "1")
    site.work()
    assert mongo["comments.lessons"].count_documents({"kind": "approved"}) == MIN_LESSONS


def test_decisions_by_programs_teach_nothing(hold, mongo):
    pending.approve(hold("A letter", "by-a-program").id)
    site.work()
    assert mongo["comments.lessons"].count_documents({}) == 0


@pytest.mark.slow
def test_no_text_is_stored(decided, mongo):
    stored = str(list(mongo["comments.features"].find()) + list(mongo["comments.lessons"].find()))
    assert "casino" not in stored
    assert "printer" not in stored


def test_long_comment_has_a_limited_number_of_features():
    text = " ".join(f"word{n}" for n in range(15_000))
    assert len(LearnedFilter().features("Ann", text, "", now())) == MAX_FEATURES


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("place", [0, 700, 1_400])
def test_spam_among_many_unknown_words_is_held(decided, place):
    words = [f"w{n}" for n in range(1_400)]
    words[place:place] = ["casino", "bonus", "win"]
    assert spam.judge(submission(" ".join(words))).held_by[0].startswith("learned: 9")


def test_learning_a_long_comment_counts_a_limited_number_of_features(hold, mongo):
    words = [f"w{n}" for n in range(1_400)]
    text = f"{' '.join(words)} [bonus](https://casino.example/)"
    held = hold(text, "long")
    pending.reject(held.id, by="1", verdict=Verdict.SPAM)
    site.work()
    counted = {entry["_id"] for entry in mongo["comments.features"].find({"spam": 1})}
    assert len(counted) == MAX_LEARNED + 1
    assert Feature("link", "casino.example").id in counted
    pending.reject(held.id, by="1", verdict=Verdict.WAITING)
    site.work()
    assert mongo["comments.features"].count_documents({"spam": {"$gt": 0}}) == 0


def test_text_without_spaces_is_compared_by_pairs_of_characters():
    values = [f.value for f in LearnedFilter().features("", "赌场奖金", "", now()) if f.kind == "word"]
    assert values == ["赌场", "场奖", "奖金"]


def test_words_are_compared_without_invisible_characters_and_single_letters():
    values = [
        f.value for f in LearnedFilter().features("", "A ca\u202esi\u200bno, a CASINO!", "", now()) if f.kind == "word"
    ]
    assert values == ["casino"]


def test_link_to_a_broken_address_is_ignored():
    html = '<a href="http://[broken">x</a> <a href="https://www.casino.example/a">y</a>'
    values = [f.value for f in LearnedFilter().features("", "x", html, now()) if f.kind == "link"]
    assert values == ["casino.example"]


def test_filter_reads_with_one_command(decided, commands):
    features = LearnedFilter().features("Ann", "Our casino has a bonus for you", "", now())
    with commands.recorded():
        assert LearnedFilter().estimate(features).probability > 0.9
    assert [event.command_name for event in commands.sent] == ["find"]


@pytest.mark.slow
def test_reason_is_a_sentence(decided, target):
    sent = submission("Our casino has a bonus", nonce="n" * 16)
    held_by = spam.judge(sent).held_by
    services.hold(target, author=CommentAuthor("Bea"), source=sent.source, token="u" * 16, reasons=held_by)
    held = next(one for one in selectors.held() if one.reasons == held_by)
    (sentence,) = reasons.sentences(held)
    assert sentence.startswith("Looks like earlier spam (9")
    assert "casino" in sentence
