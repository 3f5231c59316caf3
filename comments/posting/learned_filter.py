"""A spam filter that learns from the decisions of moderators. It only holds comments, and never refuses them.

The filter is a naive Bayes classifier (Paul Graham, "A Plan for Spam", 2002) with Gary Robinson's smoothing of rare
features ("A Statistical Approach to the Spam Problem", Linux Journal, 2003). For each feature of a comment, such as a
word or the domain of a link, it stores how many approved comments and how many spam comments had the feature. Features
are stored as keyed hashes, so the collection contains no text from comments.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from itertools import islice
from unicodedata import name as character_name

from django.conf import settings

from marginalia.comments import conf, terms
from marginalia.comments.backends import backend
from marginalia.comments.notices import reasons
from marginalia.comments.posting.spam import SpamHit, SpamRule, Submission
from marginalia.comments.types import Comment, HeldComment, Verdict
from marginalia.markup.characters import scrub
from marginalia.mongo.clock import now

# All comments have this feature, so its counts are the numbers of approved comments and of spam comments.
EVERY_COMMENT = "every comment"
# The filter holds no comment before it has learned this many decisions of each kind.
MIN_LESSONS = 20
# Maximum number of features of a comment. A comment of the default MAX_LENGTH has fewer, so no words can hide its spam.
MAX_FEATURES = 10_000
# Maximum number of features that are learned from a comment, because each of them costs a write.
MAX_LEARNED = 400
# Only the features that say most about a comment count, so that many weak ones don't outweigh them in a long text.
MAX_TELLING = 20
# Robinson's smoothing: a feature counts as if it had been seen this many more times in equally many comments of each
# kind.
STRENGTH = 1.0
# How many words the reason for holding a comment contains.
MAX_SHOWN = 5


@dataclass(frozen=True)
class Feature:
    """A property of a comment: its kind, such as "word", and its value. `label` is shown to moderators, or ""."""

    kind: str
    value: str
    label: str = ""

    @property
    def id(self) -> str:
        """The keyed hash under which the feature is counted."""
        key = settings.SECRET_KEY.encode()[:64]
        return blake2b(f"{self.kind}:{self.value}".encode(), digest_size=12, key=key).hexdigest()


@dataclass(frozen=True)
class Estimate:
    """How likely a comment is spam, from 0 to 1, and the labels of the features that suggest spam most strongly."""

    probability: float
    labels: tuple[str, ...]


class LearnedFilter(SpamRule):
    """The rule that holds comments that resemble earlier spam. A project can override `features`."""

    def check(self, submission: Submission) -> SpamHit | None:
        """Hold a comment if its probability of being spam is at least COMMENTS["SPAM_THRESHOLD"]."""
        found = self.estimate(self.features(submission.name, submission.source, submission.html, now()))
        if found is None or found.probability < conf.get("SPAM_THRESHOLD"):
            return None
        # The features aren't independent, so the estimate is never as certain as 100% would claim.
        return SpamHit(f"learned: {min(found.probability, 0.99):.0%} {', '.join(found.labels)}".rstrip())

    def features(self, name: str, source: str, html: str, posted: datetime) -> list[Feature]:
        """Return the features of a comment, at most MAX_FEATURES.

        Args:
            name: The author's name.
            source: The text as it was entered.
            html: The text as HTML.
            posted: The time when the comment was sent.
        """
        domains = (host.removeprefix("www.") for host in terms.link_hosts(html) if host)
        found = (
            Feature("links", str(min(reasons.links_in(html), 5))),
            Feature("hour", str(posted.hour // 4)),
            *(Feature("link", domain, domain) for domain in domains),
            *(Feature("name", word, word) for word in _words(name)),
            *(Feature("script", script) for script in _scripts(source)),
        )
        words = (Feature("word", word, word) for word in _words(source))
        return list(islice(dict.fromkeys((*found, *words)), MAX_FEATURES))

    def estimate(self, features: Iterable[Feature]) -> Estimate | None:
        """Return the estimate for a comment with these features, or None if too few decisions were learned.

        The features are read with a single command.
        """
        by_id = {feature.id: feature for feature in features}
        counts = backend().lessons.counts([EVERY_COMMENT, *by_id])
        every = counts.pop(EVERY_COMMENT, None)
        if every is None or min(every.values()) < MIN_LESSONS:
            return None
        weights = {by_id[id]: _weight(counted, every) for id, counted in counts.items()}
        telling = sorted(weights, key=lambda feature: -abs(weights[feature]))[:MAX_TELLING]
        labels = [f.label for f in sorted(telling, key=lambda f: -weights[f]) if f.label and weights[f] > 0]
        total = max(-500.0, sum(weights[feature] for feature in telling))  # exp() overflows above 709
        return Estimate(1 / (1 + math.exp(-total)), tuple(dict.fromkeys(labels))[:MAX_SHOWN])

    def learn(self, comment: Comment | HeldComment, verdict: Verdict) -> None:
        """Learn a moderator's decision: APPROVED or SPAM. Any other verdict makes the filter forget the decision."""
        self.learn_many([comment], verdict)

    def learn_many(self, comments: Sequence[Comment | HeldComment], verdict: Verdict) -> None:
        """Learn the same decision about several comments, with three commands."""
        kind = {Verdict.APPROVED: "approved", Verdict.SPAM: "spam"}.get(verdict, "")
        lessons = {(comment.target, comment.slug): self._ids(comment) for comment in comments}
        backend().lessons.learn(lessons, kind)

    def _ids(self, comment: Comment | HeldComment) -> list[str]:
        features = self.features(comment.author.name, comment.source, comment.html, comment.posted)
        # Keyed hashes determine which words of a long comment are learned, so that writers can't choose these words.
        learned = sorted((feature.kind == "word", feature.id) for feature in features)[:MAX_LEARNED]
        return [EVERY_COMMENT, *(id for _is_word, id in learned)]


def _weight(counted: Mapping[str, int], every: Mapping[str, int]) -> float:
    """Return the logarithm of the odds that a comment with this feature is spam."""
    in_spam, in_approved = counted["spam"] / every["spam"], counted["approved"] / every["approved"]
    seen = counted["spam"] + counted["approved"]
    probability = in_spam / (in_spam + in_approved) if seen else 0.5
    smoothed = (STRENGTH * 0.5 + seen * probability) / (STRENGTH + seen)
    return math.log(smoothed / (1 - smoothed))


def _words(text: str) -> Iterator[str]:
    """Return the words of a text that have more than one letter, without invisible characters."""
    return (word for word in terms.split(scrub(text)) if len(word) > 1)


def _scripts(text: str) -> Iterator[str]:
    """Yield the scripts of the letters in a text, for example LATIN. They stand for the language."""
    for character in {character for character in text[:2_000] if character.isalpha()}:
        yield character_name(character, "UNKNOWN").partition(" ")[0]
