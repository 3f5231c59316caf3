"""The contract as simply as possible: the behaviour of every back end, on dicts, one call at a time.

`_placed` places a new comment, `post` and `_change` decide about repeated tokens, `_by_number` selects a page, and
`approve` sorts in held comments. The rest follows from these.
"""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from marginalia.comments import slugs
from marginalia.comments.backends import discussions
from marginalia.comments.backends.base import Backend
from marginalia.comments.errors import (
    CommentNotFound,
    DiscussionClosed,
    EditConflict,
    HeldChanged,
    InvalidParent,
    NothingToRestore,
    TooManyLocked,
)
from marginalia.comments.types import (
    Ban,
    Batch,
    BatchState,
    Comment,
    CommentAuthor,
    Discussion,
    HeldComment,
    Kind,
    Order,
    Page,
    PostResult,
    ReplacedComment,
    Restrictions,
    Selected,
    State,
    TermKind,
    Verdict,
)
from marginalia.mongo.clock import now

NOTHING = {"author": CommentAuthor(""), "source": "", "html": "", "text_hash": ""}
TOMBSTONE = {**NOTHING, "edited": None, "state": State.REMOVED}


@dataclass
class Thread:
    """A discussion. `last` is the highest assigned number. Comments, former texts and emails are stored by slug."""

    open: bool = True
    last: int = 0
    comments: dict = field(default_factory=dict)
    history: dict = field(default_factory=lambda: defaultdict(list))
    emails: dict = field(default_factory=dict)
    restrictions: Restrictions = field(default_factory=Restrictions)


@dataclass
class BulkDecision:
    """A batch, and the public and waiting comments that it selected."""

    batch: Batch
    public: list[Comment]
    waiting: list[HeldComment]


class SpecifiedBans:
    """Bans by term, oldest first."""

    def __init__(self):
        self.stored, self.made = {}, 0

    def add(self, kind, value, *, reason, by, expires):
        before = self.stored.get(kind.term(value))
        self.made += 1
        key, created = (before.id, before.created) if before else (f"{self.made:024x}", now())
        ban = self.stored[kind.term(value)] = Ban(key, kind, value, reason, by, created, expires)
        return ban

    def get(self, ban_id):
        return next((ban for ban in self.stored.values() if ban.id == ban_id), None)

    def lift(self, ban_id):
        ban = self.get(ban_id)
        return ban and self.stored.pop(ban.term)

    def matching(self, banned):
        found = [ban for ban in self.stored.values() if ban.term in banned or ban.kind is TermKind.PATTERN]
        return [ban for ban in found if ban.is_active(now())]

    def find(self, typed="", *, limit, after=""):
        newest = list(reversed(self.stored.values()))
        start = newest.index(self.get(after)) + 1 if after else 0
        return [ban for ban in newest[start:] if typed in f"{ban.value} {ban.reason}"][:limit]

    def count_patterns(self):
        return sum(ban.kind is TermKind.PATTERN for ban in self.stored.values())

    def erase(self, banned):
        return len([self.stored.pop(term) for term in set(banned) & self.stored.keys()])

    def forget_moderator(self, key):
        for term, ban in self.stored.items():
            self.stored[term] = replace(ban, by="" if ban.by == key else ban.by)


class Specification(Backend):
    max_depth = 8

    def __init__(self):
        self.threads = defaultdict(Thread)  # by target
        self.queue, self.ready = {}, {}  # held and decided comments, and the comment each becomes, by id
        self.leases = {}  # (moderator, until), by id
        self.made, self.clock = set(), datetime(2026, 1, 1, tzinfo=UTC)
        self.removed_by = {}  # the token of the removal that made a revision
        self.bans = SpecifiedBans()
        self.decided, self.marked = {}, {}  # bulk decisions by id, and their ids by the id of the held comment

    def _now(self):
        self.clock += timedelta(milliseconds=1)
        return self.clock

    # Writing ---------------------------------------------------------------------------------------------------------

    def _slug(self, new):
        return new.slug or slugs.join(slugs.allowed_parent(new.parent, self.max_depth), slugs.part(new.token))

    def _placed(self, target, new, number):
        """Return the comment that a new one becomes: below its parent, or below the deepest ancestor allowed."""
        there, slug, posted = self.threads[target].comments, self._slug(new), new.posted or self._now()
        if new.parent and (new.parent not in there or (there[new.parent].removed and not new.posted)):
            raise InvalidParent(new.parent)
        parent = slugs.parent_of(slug)
        full_slug = slugs.join(there[parent].full_slug if parent else "", f"{slugs.stamp(posted)}:{slug[-16:]}")
        made = Comment(
            target,
            slug,
            full_slug,
            number,
            posted,
            parent,
            new.parent,
            new.author,
            new.source,
            new.html,
            new.kind,
            new.state,
            1,
            new.edited,
            new.text_hash,
        )
        return replace(made, **NOTHING) if made.removed else made

    def _sent_before(self, target, new):
        """Return the comment that this token posted, or None. Then the discussion must be open, except for imports."""
        thread = self.threads[target]
        if found := thread.comments.get(self._slug(new)):
            return PostResult(found, new=False)
        if not thread.open and not new.posted:
            raise DiscussionClosed(target.id)
        return None

    def post(self, target, new):
        # An assigned number is used up in any case. A repeated token uses one up.
        if before := self._sent_before(target, new):
            self.threads[target].last += self.threads[target].open
            return before
        return self._publish(target, new)

    def _publish(self, target, new):
        thread = self.threads[target]
        thread.last += 1
        made = self._placed(target, new, thread.last)
        thread.comments[made.slug], thread.emails[made.slug] = made, new.email
        return PostResult(made)

    def import_(self, target, comments, *, renumber=True):
        there = self.threads[target].comments
        before = len(there)
        for new in comments:
            if self._slug(new) not in there:
                self._publish(target, new if new.posted else replace(new, posted=self._now()))
        if renumber and any(a.posted > b.posted for a, b in pairwise(self._sorted(target, Order.OLDEST))):
            self._renumber(target)
        return len(there) - before

    def _renumber(self, target):
        thread = self.threads[target]
        ranked = sorted(thread.comments.values(), key=lambda c: (c.posted, c.slug))
        thread.comments |= {c.slug: replace(c, number=n) for n, c in enumerate(ranked, 1)}
        thread.last = len(ranked)
        for key, held in self.queue.items():
            if held.target == target:
                self.queue[key] = replace(held, number=max(1, sum(c.posted <= held.posted for c in ranked)))

    def _change(self, target, slug, rev, token, wanted, is_as_wished, fields):
        """Change a comment with this revision and state. Otherwise, the token may have already made the change."""
        thread, stored = self.threads[target], self.get(target, slug)
        if stored.rev == rev and stored.state is wanted:
            thread.history[slug].insert(0, stored)
            stored = thread.comments[slug] = replace(stored, rev=rev + 1, **fields)
            self.made.add((target, slug, token))
        elif (target, slug, token) not in self.made and not is_as_wished(stored):
            raise CommentNotFound(slug) if stored.removed and wanted is State.PUBLIC else EditConflict(stored)
        return stored

    def edit(self, target, slug, *, source, html, rev, token, by=""):
        text = {"source": source, "html": html, "edited": self._now()}
        return self._change(
            target, slug, rev, token, State.PUBLIC, lambda c: not c.removed and c.source == source, text
        )

    def remove(self, target, slug, *, rev, token, by=""):
        removed = self._change(target, slug, rev, token, State.PUBLIC, lambda c: c.removed, TOMBSTONE)
        self.removed_by.setdefault((target, slug, removed.rev), token)
        return removed

    def restore(self, target, slug, *, rev, token, by=""):
        stored = self.get(target, slug)
        kept = next((c for c in self.threads[target].history[slug] if c.rev == rev - 1), None)
        if kept is None and stored.removed and stored.rev == rev:
            raise NothingToRestore(slug)
        back = {name: getattr(kept, name) for name in TOMBSTONE} if kept else {}
        return self._change(target, slug, rev, token, State.REMOVED, lambda c: not c.removed, back)

    def remove_many(self, target, wanted, *, token, by=""):
        done = 0
        for slug in dict.fromkeys(wanted):
            c = self.threads[target].comments.get(slug)
            if c and not c.removed and (target, slug, f"many {token}") not in self.made:
                self.remove(target, slug, rev=c.rev, token=f"many {token}")
                done += 1
        return done

    def restore_many(self, target, wanted, *, token, by=""):
        done = 0
        for slug in dict.fromkeys(wanted):
            c = self.threads[target].comments.get(slug)
            if c and c.removed and self.removed_by.get((target, slug, c.rev)) == f"many {token}":
                kept = next((old for old in self.threads[target].history[slug] if old.rev == c.rev - 1), None)
                if kept:
                    self.restore(target, slug, rev=c.rev, token=f"back {token}")
                    done += 1
        return done

    # Searches and bulk decisions: selections of accounts, in some or all discussions -----------------------------------

    def _selected(self, selection):
        """Return the selected public and waiting comments."""
        accounts = {term.removeprefix("account:") for term in selection.terms}

        def is_selected(one):
            return selection.discussions in (None, (one.target.id,)) and accounts <= {one.author.id}

        waiting = [h for h in self.queue.values() if h.verdict is Verdict.WAITING and is_selected(h)]
        return [c for c in self._all() if is_selected(c)], waiting

    def count_selected(self, selection):
        public, waiting = self._selected(selection)
        return Selected(len(public), len(waiting), len({one.target for one in (*public, *waiting)}))

    def start_batch(self, selection, verdict, *, what="", by=""):
        key = f"batch {len(self.decided)}"
        public, waiting = self._selected(selection)
        batch = Batch(key, by, self._now(), verdict, what, BatchState.MARKING, 0, 0, 0, 0)
        self.decided[key] = BulkDecision(batch, public, waiting)
        return batch

    def work_on_batch(self, batch_id, *, seconds=None):
        decision = self.decided[batch_id]
        if decision.batch.state is BatchState.MARKING:
            for held in decision.waiting:
                self.queue[held.id] = replace(held, verdict=decision.batch.verdict)
                self.marked[held.id] = batch_id
            for c in decision.public:
                self.remove_many(c.target, [c.slug], token=batch_id)
            total = len(decision.public) + len(decision.waiting)
            decision.batch = replace(decision.batch, state=BatchState.DONE, total=total)
        elif decision.batch.state is BatchState.UNDOING:
            restored = sum(self.restore_many(c.target, [c.slug], token=batch_id) for c in decision.public)
            for held in decision.waiting:
                if self.marked.get(held.id) == batch_id:
                    del self.marked[held.id]
                    self.queue[held.id] = replace(self.queue[held.id], verdict=Verdict.WAITING)
                    restored += 1
            decision.batch = replace(decision.batch, state=BatchState.UNDONE, restored=restored)
        return decision.batch

    def undo_batch(self, batch_id, *, by=""):
        decision = self.decided[batch_id]
        if decision.batch.state is not BatchState.UNDONE:
            decision.batch = replace(decision.batch, state=BatchState.UNDOING)
        return decision.batch

    def batch(self, batch_id):
        return self.decided[batch_id].batch

    # The rest of these operations has tests of its own.
    search = get_with_texts = terms_of = batches = tidy_batches = mark_spam = has_spam_by = has_spam_among = None

    def _wrote(self, one, id, email):
        if id:
            return one.author.id == id
        return email == (one.email if isinstance(one, HeldComment) else self.threads[one.target].emails[one.slug])

    def erase_author(self, *, id="", email=""):
        mine = [key for key, held in self.queue.items() if self._wrote(held, id, email)]
        erased = len([self.queue.pop(key) for key in mine])
        self.marked = {key: batch for key, batch in self.marked.items() if key in self.queue}
        for thread in self.threads.values():
            for slug, c in thread.comments.items():
                if not c.removed and self._wrote(c, id, email):
                    thread.comments[slug] = replace(c, rev=c.rev + 1, **TOMBSTONE)
                    erased += 1
            for slug, kept in thread.history.items():
                thread.history[slug] = [c for c in kept if not self._wrote(c, id, email)]
        return erased

    def sweep_erasures(self):
        return 0  # there are no concurrent writers

    def close(self, target):
        self.threads[target].open = False

    def open(self, target):
        self.threads[target].open = True

    def restrict(self, target, **changes):
        self.threads[target].restrictions = replace(self.threads[target].restrictions, **changes)

    def lock_thread(self, target, slug, *, locked):
        if locked:
            self.get(target, slug)
        before = self.threads[target].restrictions
        others = tuple(one for one in before.locked if one != slug)
        if locked and slug not in before.locked and len(others) >= discussions.MAX_LOCKED:
            raise TooManyLocked(target.id)
        after = (before.locked if slug in before.locked else (*others, slug)) if locked else others
        self.threads[target].restrictions = replace(before, locked=after)

    def delete_discussion(self, target):
        self.queue = {key: held for key, held in self.queue.items() if held.target != target}
        return len(self.threads.pop(target, Thread()).comments)

    # The queue -------------------------------------------------------------------------------------------------------

    def hold(self, target, new, reasons=()):
        if before := self._sent_before(target, new):
            return before
        made = self._placed(target, new, max(self.threads[target].last, 1))
        key = f"{target.id}/{made.slug}"
        is_new = key not in self.queue
        if is_new:
            self.ready[key] = made
            self.queue[key] = HeldComment(
                key,
                target,
                made.slug,
                new.parent,
                made.number,
                made.posted,
                new.author,
                new.email,
                new.source,
                new.html,
                Kind.COMMENT,
                Verdict.WAITING,
                tuple(reasons),
                text_hash=new.text_hash,
            )
        return PostResult(None, self.queue[key], new=is_new)

    def approve(self, held_id, by="", rev=0):
        held = self.get_held(held_id)
        if held.verdict is Verdict.WITHDRAWN:
            raise CommentNotFound(held_id)
        if rev not in (0, held.rev):
            raise HeldChanged(held_id)
        self.queue[held_id] = replace(held, verdict=Verdict.APPROVED, settled=True)
        self.marked.pop(held_id, None)
        thread = self.threads[held.target]
        if held.slug not in thread.comments:
            said = {"number": held.number, "source": held.source, "html": held.html}
            thread.comments[held.slug] = replace(self.ready[held_id], **said)
            thread.emails[held.slug], thread.last = held.email, max(thread.last, held.number)
        return thread.comments[held.slug]

    def _waiting(self, held_id):
        if (held := self.get_held(held_id)).verdict is not Verdict.WAITING or held.settled:
            raise CommentNotFound(held_id)
        return held

    def change_held(self, held_id, *, source, html, rev):
        held = self._waiting(held_id)
        if held.rev == rev:
            held = self.queue[held_id] = replace(held, source=source, html=html, rev=rev + 1)
        if held.source != source:
            raise HeldChanged(held_id)
        return held

    def withdraw(self, held_id):
        gone = replace(self._waiting(held_id), **NOTHING, email="", reasons=(), verdict=Verdict.WITHDRAWN)
        self.queue[held_id] = gone
        return gone

    def reject(self, held_id, by="", verdict=Verdict.REJECTED):
        held = self.get_held(held_id)
        if held.verdict not in (Verdict.APPROVED, Verdict.WITHDRAWN):
            self.queue[held_id] = replace(held, verdict=verdict)
            self.marked.pop(held_id, None)
        return self.queue[held_id]

    def held(
        self,
        *,
        target=None,
        author_id="",
        slug="",
        leased_by="",
        available_to="",
        verdict=Verdict.WAITING,
        limit=100,
        after="",
    ):
        found = [h for h in self.queue.values() if verdict in (None, h.verdict) and target in (None, h.target)]
        found = [h for h in found if author_id in ("", h.author.id) and slug in ("", h.slug)]
        found = [h for h in found if leased_by in ("", self._lease(h)[0])]
        found = [h for h in found if not available_to or self._lease(h)[0] in ("", available_to)]
        start = [h.id for h in found].index(after) + 1 if after else 0
        return tuple(found[start : start + limit])

    def get_held(self, held_id):
        if held_id not in self.queue:
            raise CommentNotFound(held_id)
        return self.queue[held_id]

    # Reading ---------------------------------------------------------------------------------------------------------

    def discussion(self, target):
        thread = self.threads[target]
        count = sum(not c.removed for c in thread.comments.values())
        return Discussion(
            target, "dict", Order.OLDEST, thread.open, True, count, thread.last, restrictions=thread.restrictions
        )

    def discussions(self, targets):
        return {target: self.discussion(target) for target in targets}

    def _sorted(self, target, order):
        key = (lambda c: c.full_slug) if order is Order.THREADED else (lambda c: (c.number, c.posted, c.slug))
        return sorted(self.threads[target].comments.values(), key=key, reverse=order is Order.NEWEST)

    def page(self, target, *, order=None, size=50, number=0, after="", before="", at=""):
        wanted = self.get(target, at) if at else None
        if order is not Order.THREADED:
            return self._by_number(target, order or Order.OLDEST, size, number, wanted)
        found = self._sorted(target, order)
        if before:
            shown = [c for c in found if c.full_slug < before][-size:]
            return self._threaded(target, shown, size, shown[-1].full_slug if shown else "")
        rest = [c for c in found if (c.full_slug >= wanted.full_slug if wanted else c.full_slug > after)]
        return self._threaded(target, rest, size)

    def _threaded(self, target, found, size, following=""):
        following = found[size - 1].full_slug if len(found) > size else following
        return Page(self.discussion(target), tuple(found[:size]), Order.THREADED, Order.THREADED, size, next=following)

    def _by_number(self, target, order, size, number, wanted):
        """Page k contains the numbers size · (k − 1) + 1 … size · k.

        A page without comments is skipped in reading direction, except the last one.
        """

        def page_of(c):
            return (c.number - 1) // size + 1

        found, about, is_back = self._sorted(target, order), self.discussion(target), order is Order.NEWEST
        pages = max(1, -(-about.last_number // size))
        number = page_of(wanted) if wanted else min(number, pages) or (pages if is_back else 1)
        ahead = [c for c in found if (page_of(c) <= number if is_back else page_of(c) >= number)]
        end = 1 if is_back else pages
        number = page_of(ahead[0]) if ahead else end
        shown = tuple(c for c in found if page_of(c) == number)
        following = "" if number == end else str(number - 1 if is_back else number + 1)
        return Page(about, shown, order, order, size, number=number, pages=pages, next=following)

    def count_held(self, verdict, limit):
        return min(limit, len(self.held(verdict=verdict, limit=limit)))

    def lease(self, by, until):
        found = next((h for h in self.held() if not self._lease(h)[0]), None)
        if found:
            self.leases[found.id] = by, until
        return found

    def _lease(self, held):
        by, until = self.leases.get(held.id, ("", self.clock))
        return (by if until > self.clock else ""), until

    def release(self, by):
        mine = self.held(leased_by=by, limit=9_999)
        self.leases = {key: lease for key, lease in self.leases.items() if lease[0] != by}
        return len(mine)

    def newest(self, target, limit=50):
        newest = tuple(c for c in self._sorted(target, Order.NEWEST) if not c.removed)
        return Page(self.discussion(target), newest[:limit], Order.NEWEST, Order.NEWEST, limit)

    def get(self, target, slug):
        if slug not in self.threads[target].comments:
            raise CommentNotFound(slug)
        return self.threads[target].comments[slug]

    def subdiscussion(self, target, slug, *, size=50, after=""):
        top, found = self.get(target, slug), self._sorted(target, Order.THREADED)
        below = [c for c in found if f"{c.slug}/".startswith(f"{top.slug}/") and c.full_slug > after]
        return self._threaded(target, below, size)

    def iterate(self, target, *, order=Order.OLDEST):
        return iter(self._sorted(target, order))

    def _all(self):
        return [c for thread in self.threads.values() for c in thread.comments.values() if not c.removed]

    def recent(self, limit=10, *, label=""):
        newest = sorted(self._all(), key=lambda c: (c.posted, c.slug), reverse=True)
        return tuple(c for c in newest if label in ("", c.target.label))[:limit]

    def by_author(self, author_id, *, limit=50, before=None):
        mine = [c for c in self.recent(len(self._all())) if c.author.id == author_id]
        return tuple(c for c in mine if before is None or c.posted < before)[:limit]

    def written_by(self, *, id="", email=""):
        yield from (c for c in self._all() if self._wrote(c, id, email))
        kept = [c for thread in self.threads.values() for kept in thread.history.values() for c in kept]
        yield from (ReplacedComment(c, c.posted, "") for c in kept if self._wrote(c, id, email))
        yield from (held for held in self.queue.values() if self._wrote(held, id, email))

    def targets(self, *, label=""):
        return iter(sorted((t for t in self.threads if label in ("", t.label)), key=lambda t: t.id))

    def history(self, target, slug):
        stored = self.get(target, slug)
        return tuple(ReplacedComment(c, stored.posted, "") for c in self.threads[target].history[slug])

    def email_of(self, target, slug):
        return "" if self.get(target, slug).removed else self.threads[target].emails[slug]

    def iterate_with_emails(self, target, *, order=Order.OLDEST):
        return ((c, self.email_of(target, c.slug)) for c in self.iterate(target, order=order))

    # Upkeep: single calls leave nothing to repair, and dicts have one layout -----------------------------------------

    def convert(self, target, layout, order, *, renumber=False, patience=None, progress=None):
        if renumber:
            self._renumber(target)

    def drop_old_copies(self, target):
        return 0

    def audit(self, target):
        return []

    def repair(self, target, faults):
        return 0

    def tidy(self):
        return 0
