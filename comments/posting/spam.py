"""Spam rules. Each looks at a comment before it is stored, or changed by its author, and may mind it: by name to moderators,
in a friendly sentence to the author. What a rule refuses claims no place in the discussion, and the form comes back with the
text.

COMMENTS["RULES"] lists the rules by import path, the cheap ones first; a project adds its own there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from django.utils.crypto import salted_hmac
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from marginalia.comments import conf
from marginalia.comments.notices import reasons
from marginalia.comments.posting import preparation
from marginalia.comments.posting.tokens import FormToken
from marginalia.comments.types import Comment, Held
from marginalia.markup.characters import scrub
from marginalia.mongo import rate_limit

REPEAT_SECONDS = 24 * 60 * 60
# Previews in the time of one comment: who writes looks often.
PREVIEWS = 10
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Submission:
    """What rules know of a comment. `ip_hash` is a keyed hash of the network; `trap` is what stands in the field that
    people do not see, `notify` the e-mail address that asks for notices of replies; `edited` is the comment that is to say
    this, None for a new one."""

    token: FormToken
    name: str
    email: str
    user: str
    source: str
    ip_hash: str
    trap: str = ""
    notify: str = ""
    edited: Comment | Held | None = None

    @cached_property
    def html(self) -> str:
        """The text as it would be stored, rendered for the first rule that wants it."""
        return preparation.render(self.source)

    @property
    def who(self) -> str:
        """The author, for counting: the account, else the name as typed."""
        return f"user:{self.user}" if self.user else f"name:{self.name.casefold()}"


@dataclass(frozen=True)
class SpamHit:
    """What a rule minds. `sentence`: for the author of a comment that is refused; without one, it is held for moderators."""

    rule: str
    sentence: str | Promise = ""

    @property
    def refuses(self) -> bool:
        """Whether the comment is not taken at all."""
        return bool(self.sentence)


@dataclass
class Judgement:
    """What came of all rules: the hit that refuses, or the names of those that hold."""

    refused: SpamHit | None = None
    held_by: tuple[str, ...] = ()


def judge(submission: Submission) -> Judgement:
    """Ask the rules in their order, until one refuses."""
    held: list[str] = []
    for hit in _hits(submission):
        if hit.refuses:
            return Judgement(refused=hit)
        held.append(hit.rule)
    return Judgement(held_by=tuple(held))


def _hits(submission: Submission) -> Iterator[SpamHit]:
    rules = conf.imported_all("RULES")
    if submission.edited:
        # A change is counted in any case; that is all that its form says.
        rules = (rate, *(rule for rule in rules if rule not in (trap, speed, rate, repeat)))
    for rule in rules:
        if hit := rule(submission):
            yield hit


def trap(submission: Submission) -> SpamHit | None:
    """Refuse who fills in the field that people do not see."""
    if submission.trap:
        return SpamHit("trap", _("Please leave the last field empty, and send your comment again."))
    return None


def speed(submission: Submission) -> SpamHit | None:
    """Refuse what was sent faster than people type. A second try counts from the first form."""
    if submission.token.age() < conf.get("MIN_SECONDS"):
        return SpamHit("speed", _("That was quick! Please read it through once more, then send it again."))
    return None


def links(submission: Submission) -> SpamHit | None:
    """Hold what carries many links."""
    has_many = reasons.links_in(submission.html) > conf.get("MAX_LINKS")
    return SpamHit("links") if has_many else None


def words(submission: Submission) -> SpamHit | None:
    """Hold what contains a listed word, as a whole word, in text or name."""
    listed = "|".join(re.escape(word.casefold()) for word in conf.get("WORDS") if word.strip())
    text = scrub(f"{submission.name}\n{submission.source}").casefold()  # as it will be read
    found = sorted(set(re.findall(rf"(?<!\w)(?:{listed})(?!\w)", text))) if listed else []
    return SpamHit(f"words: {', '.join(found)}") if found else None


def rate(submission: Submission) -> SpamHit | None:
    """Refuse more than so many comments and changes from one network or account in so many seconds."""
    if _passes(_keys("rate", submission.ip_hash, submission.user), submission.token.nonce):
        return None
    return SpamHit("rate", _("You have sent or changed many comments in a short time. Please wait a few minutes."))


def may_preview(*, ip_hash: str, user: str) -> bool:
    """Return whether a network (by its hash) and an account, or "", may see one more preview, and count it: each by itself,
    since one form may ask for any number."""
    return _passes(_keys("preview", ip_hash, user), preparation.new_token(), PREVIEWS)


def may_flag(*, ip_hash: str, user: str) -> bool:
    """Return whether a network (by its hash) and an account, or "", may flag one more comment, and count it."""
    return _passes(_keys("flag", ip_hash, user), preparation.new_token())


def repeat(submission: Submission) -> SpamHit | None:
    """Refuse the same text by the same author in answer to the same comment; elsewhere it may be said again."""
    if rate_limit.allow(
        _repeat_key(submission),
        limit=1,
        seconds=REPEAT_SECONDS,
        token=submission.token.nonce,
        alias=conf.database_alias(),
    ):
        return None
    return SpamHit("repeat", _("You have already said exactly this here."))


def take_back(submission: Submission, *, rate: bool = True) -> None:
    """Forget that a comment or a change was counted: it was not stored, and will be sent again. Not its `rate` where its form
    stored another one, whose count is the same."""
    rates = _keys("rate", submission.ip_hash, submission.user) if rate else []
    for key in (*rates, _repeat_key(submission)):
        rate_limit.refund(key, token=submission.token.nonce, alias=conf.database_alias())


def forget(*, ip_hash: str = "", user: str = "") -> int:
    """Forget how much came from a network (by its hash) or an account; return how many counts went."""
    keys = [key for kind in ("rate", "preview", "flag") for key in _keys(kind, ip_hash, user)]
    return sum(rate_limit.reset(key, alias=conf.database_alias()) for key in keys)


def _passes(keys: list[str], token: str, times: int = 1) -> bool:
    limit, seconds = conf.get("RATE")
    alias = conf.database_alias()
    return all(rate_limit.allow(key, limit=limit * times, seconds=seconds, token=token, alias=alias) for key in keys)


def _keys(kind: str, ip_hash: str, user: str) -> list[str]:
    return [f"comments.{kind}:{of}:{who}" for of, who in (("ip_hash", ip_hash), ("user", user)) if who]


def _repeat_key(submission: Submission) -> str:
    said = _SPACE.sub(" ", submission.source).strip().casefold()
    parts = (submission.token.discussion, submission.token.parent, submission.who, said)
    return "comments.repeat:" + salted_hmac("comments.repeat", "\x00".join(parts), algorithm="sha256").hexdigest()[:40]
