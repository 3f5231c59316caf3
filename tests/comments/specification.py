"""The contract as plainly as it can be said: what every back end must do, over a dict and without a database."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from comments import slugs
from comments.backends import numbering
from comments.backends.base import Backend
from comments.errors import (
    CommentNotFound,
    DiscussionClosed,
    EditConflict,
    HeldChanged,
    InvalidParent,
    NothingToRestore,
)
from comments.types import Author, Comment, Discussion, Held, Kind, Order, Page, Posted, Replaced, State, Verdict


@dataclass
class Shelf:
    open: bool = True
    last: int = 0
    comments: dict = field(default_factory=dict)
    history: dict = field(default_factory=dict)
    emails: dict = field(default_factory=dict)


class Specification(Backend):
    max_depth = 8

    def __init__(self):
        self.shelves, self.queue, self.clock, self.done = {}, {}, datetime(2026, 1, 1, tzinfo=UTC), {}

    def _at(self, target):
        return self.shelves.setdefault(target, Shelf())

    def _make(self, target, new, number, posted):
        shelf = self._at(target)
        if new.parent and (new.parent not in shelf.comments or (shelf.comments[new.parent].removed and not new.posted)):
            raise InvalidParent(new.parent)
        parent = slugs.allowed_parent(new.parent, self.max_depth)
        slug = slugs.join(parent, new.part or slugs.part(new.token))
        above = shelf.comments[parent].full_slug if parent else ""
        own = f"{slugs.stamp(posted)}:{slug[-16:]}"
        author, source, html = (
            (Author(""), "", "") if new.state is State.REMOVED else (new.author, new.source, new.html)
        )
        return Comment(target, slug, slugs.join(above, own), number, posted, parent, new.parent, author, source, html,
                       new.kind, new.state, 1, new.edited)  # fmt: skip

    def _tick(self):
        self.clock += timedelta(milliseconds=1)
        return self.clock

    def _found(self, target, new):
        slug = slugs.join(slugs.allowed_parent(new.parent, self.max_depth), new.part or slugs.part(new.token))
        return self._at(target).comments.get(slug)

    def post(self, target, new):
        shelf = self._at(target)
        if found := self._found(target, new):
            return Posted(found, new=False)
        if not shelf.open and not new.posted:
            raise DiscussionClosed(target.id)
        shelf.last += 1  # a number that is given is gone, whatever comes of it
        made = self._make(target, new, shelf.last, new.posted or self._tick())
        shelf.comments[made.slug], shelf.emails[made.slug] = made, new.email
        return Posted(made)

    def import_(self, target, comments):
        shelf, before = self._at(target), len(self._at(target).comments)
        disordered = False
        for new in comments:
            newest = max((c.posted for c in shelf.comments.values()), default=None)
            disordered |= self.post(target, new).new and newest is not None and new.posted < newest
        if disordered:
            self._renumber(target)
        return len(shelf.comments) - before

    def _renumber(self, target):
        shelf = self._at(target)
        ranked = sorted(shelf.comments.values(), key=lambda c: (c.posted, c.slug))
        shelf.comments = {c.slug: replace(c, number=n) for n, c in enumerate(ranked, 1)}
        shelf.last = len(ranked)
        for key, held in self.queue.items():
            number = max(1, sum(c.posted <= held.posted for c in ranked))
            self.queue[key] = replace(held, number=number) if held.target == target else held

    def _change(self, target, slug, rev, token, wanted, **fields):
        shelf = self._at(target)
        if slug not in shelf.comments:
            raise CommentNotFound(slug)
        stored, op = shelf.comments[slug], (target, slug, token)
        if stored.rev == rev and stored.state is wanted:
            shelf.history.setdefault(slug, []).insert(0, stored)
            stored = shelf.comments[slug] = replace(stored, rev=rev + 1, **fields)
            self.done[op] = True
            return stored
        return stored if op in self.done else None

    def edit(self, target, slug, *, source, html, rev, token, by=""):
        made = self._change(target, slug, rev, token, State.PUBLIC, source=source, html=html, edited=self._tick())
        stored = self._at(target).comments[slug]
        if made is None and stored.removed:
            raise CommentNotFound(slug)
        if made is None and stored.source != source:
            raise EditConflict(stored)
        return stored

    def remove(self, target, slug, *, rev, token, by=""):
        blank = {"author": Author(""), "source": "", "html": "", "edited": None, "state": State.REMOVED}
        made = self._change(target, slug, rev, token, State.PUBLIC, **blank)
        stored = self._at(target).comments[slug]
        if made is None and not stored.removed:
            raise EditConflict(stored)
        return stored

    def restore(self, target, slug, *, rev, token, by=""):
        kept = next((c for c in self._at(target).history.get(slug, ()) if c.rev == rev - 1), None)
        stored = self.get(target, slug)
        if kept is None and stored.removed and stored.rev == rev:
            raise NothingToRestore(slug)
        fields = ("author", "source", "html", "edited", "state")
        back = {name: getattr(kept, name) for name in fields} if kept else {}
        made = self._change(target, slug, rev, token, State.REMOVED, **back)
        stored = self._at(target).comments[slug]
        if made is None and stored.removed:
            raise EditConflict(stored)
        return stored

    def erase_author(self, *, id="", email=""):
        erased = 0
        for shelf in self.shelves.values():
            for slug, c in list(shelf.comments.items()):
                if c.removed or not ((id and c.author.id == id) or (email and shelf.emails.get(slug) == email)):
                    continue
                blank = replace(c, rev=c.rev + 1, author=Author(""), source="", html="", edited=None)
                shelf.comments[slug] = replace(blank, state=State.REMOVED)
                erased += 1
            for slug, kept in shelf.history.items():
                mine = email and shelf.emails.get(slug) == email
                shelf.history[slug] = [c for c in kept if not (id and c.author.id == id) and not mine]
        mine = [k for k, h in self.queue.items() if (id and h.author.id == id) or (email and h.email == email)]
        return erased + len([self.queue.pop(key) for key in mine])

    def close(self, target):
        self._at(target).open = False

    def open(self, target):
        self._at(target).open = True

    def forget(self, target):
        self.queue = {key: held for key, held in self.queue.items() if held.target != target}
        return len(self.shelves.pop(target, Shelf()).comments)

    def hold(self, target, new, reasons=()):
        if found := self._found(target, new):
            return Posted(found, new=False)
        shelf = self._at(target)
        if not shelf.open and not new.posted:
            raise DiscussionClosed(target.id)
        made = self._make(target, new, max(shelf.last, 1), new.posted or self._tick())
        key = f"{target.id}/{made.slug}"
        is_new = key not in self.queue
        waiting = Held(key, target, made.slug, new.parent, made.number, made.posted, new.author, new.email, new.source,
                       new.html, Kind.COMMENT, Verdict.WAITING, tuple(reasons))  # fmt: skip
        return Posted(None, self.queue.setdefault(key, waiting), new=is_new)

    def approve(self, held_id, by="", rev=0):
        held = self.get_held(held_id)
        if held.verdict is Verdict.WITHDRAWN:
            raise CommentNotFound(held_id)
        if rev not in (0, held.rev):
            raise HeldChanged(held_id)
        self.queue[held_id] = replace(held, verdict=Verdict.APPROVED, settled=True)
        shelf = self._at(held.target)
        if held.slug not in shelf.comments:
            above = shelf.comments[slugs.parent_of(held.slug)].full_slug if "/" in held.slug else ""
            full = slugs.join(above, f"{slugs.stamp(held.posted)}:{held.slug[-16:]}")
            shelf.last = max(shelf.last, held.number)
            shelf.emails[held.slug] = held.email
            shelf.comments[held.slug] = Comment(
                held.target, held.slug, full, held.number, held.posted, slugs.parent_of(held.slug), held.parent,
                held.author, held.source, held.html, held.kind, State.PUBLIC, 1, None)  # fmt: skip
        hundred = (held.number - 1) // 100
        approved = self.held(target=held.target, verdict=Verdict.APPROVED, limit=9_999)
        if sum((h.number - 1) // 100 == hundred for h in approved) > numbering.CROWD:
            self._renumber(held.target)
        return shelf.comments[held.slug]

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
        gone = replace(self._waiting(held_id), author=Author(""), email="", source="", html="", reasons=())
        self.queue[held_id] = replace(gone, verdict=Verdict.WITHDRAWN)
        return self.queue[held_id]

    def reject(self, held_id, by="", verdict=Verdict.REJECTED):
        held = self.get_held(held_id)
        if held.verdict not in (Verdict.APPROVED, Verdict.WITHDRAWN):
            self.queue[held_id] = replace(held, verdict=verdict)
        return self.queue[held_id]

    def held(self, *, target=None, author_id="", slug="", verdict=Verdict.WAITING, limit=100, after=""):
        found = [h for h in self.queue.values() if h.verdict is verdict and target in (None, h.target)]
        found = [h for h in found if author_id in ("", h.author.id) and slug in ("", h.slug)]
        start = [h.id for h in found].index(after) + 1 if after else 0
        return tuple(found[start : start + limit])

    def get_held(self, held_id):
        if held_id not in self.queue:
            raise CommentNotFound(held_id)
        return self.queue[held_id]

    def held_by_token(self, target, token):
        return next((h for h in self.held(target=target) if h.slug.endswith(slugs.part(token))), None)

    def discussion(self, target):
        shelf = self._at(target)
        public = [c for c in shelf.comments.values() if not c.removed]
        return Discussion(target, "dict", Order.OLDEST, shelf.open, True, len(public), shelf.last)

    def discussions(self, targets):
        return {target: self.discussion(target) for target in targets}

    def _sorted(self, target, order):
        key = (lambda c: c.full_slug) if order is Order.THREADED else (lambda c: (c.number, c.posted, c.slug))
        return sorted(self._at(target).comments.values(), key=key, reverse=order is Order.NEWEST)

    def page(self, target, *, order=None, size=50, number=0, after="", before="", at=""):
        found, order, about = self._sorted(target, order), order or Order.OLDEST, self.discussion(target)
        wanted = self.get(target, at) if at else None
        if order is Order.THREADED:
            found = self._sorted(target, order)
            above = [c for c in found if before and c.full_slug < before]
            start = [c for c in found if c.full_slug > after]
            if wanted:
                start = [c for c in found if c.full_slug >= wanted.full_slug]
            shown = above[-size:] if before else start[:size]
            more = bool(before) or len(start) > size
            following = shown[-1].full_slug if shown and more else ""
            return Page(about, tuple(shown), order, order, size, next=following)
        pages, back = max(1, -(-about.last_number // size)), order is Order.NEWEST
        number = (wanted.number - 1) // size + 1 if wanted else min(number, pages) or (pages if back else 1)
        found = self._sorted(target, order)
        at_page = {c.slug: (c.number - 1) // size + 1 for c in found}
        ahead = [c for c in found if (at_page[c.slug] <= number if back else at_page[c.slug] >= number)] or found[::-1]
        number = at_page[ahead[0].slug] if ahead else number
        shown = tuple(c for c in found if at_page[c.slug] == number)
        following = ahead[-1] not in shown and str(number - 1 if back else number + 1) if ahead else ""
        return Page(about, shown, order, order, size, number=number, pages=pages, next=following or "")

    def get(self, target, slug):
        if slug not in self._at(target).comments:
            raise CommentNotFound(slug)
        return self._at(target).comments[slug]

    def subdiscussion(self, target, slug, *, size=50, after=""):
        top = self.get(target, slug)
        below = [c for c in self._sorted(target, Order.THREADED) if f"{c.slug}/".startswith(f"{top.slug}/")]
        below = [c for c in below if c.full_slug > after]
        following = below[size - 1].full_slug if len(below) > size else ""
        return Page(self.discussion(target), tuple(below[:size]), Order.THREADED, Order.THREADED, size, next=following)

    def iterate(self, target, *, order=Order.OLDEST):
        return iter(self._sorted(target, order))

    def count(self, target):
        return self.discussion(target).count

    def _public(self):
        public = [c for shelf in self.shelves.values() for c in shelf.comments.values() if not c.removed]
        return sorted(public, key=lambda c: (c.posted, c.slug), reverse=True)

    def recent(self, limit=10, *, label=""):
        return tuple(c for c in self._public() if label in ("", c.target.label))[:limit]

    def by_author(self, author_id, *, limit=50, before=None):
        mine = (c for c in self._public() if c.author.id == author_id and (before is None or c.posted < before))
        return tuple(mine)[:limit]

    def written_by(self, *, id="", email=""):
        for shelf in self.shelves.values():
            for c in shelf.comments.values():
                if not c.removed and (c.author.id == id if id else shelf.emails[c.slug] == email):
                    yield c
            for c in (c for kept in shelf.history.values() for c in kept):
                if c.author.id == id if id else shelf.emails[c.slug] == email:
                    yield Replaced(c, c.posted, "")
        yield from (h for h in self.queue.values() if (h.author.id == id if id else h.email == email))

    def targets(self, *, label=""):
        return iter(sorted((t for t in self.shelves if label in ("", t.label)), key=lambda t: t.id))

    def history(self, target, slug):
        stored = self.get(target, slug)
        return tuple(Replaced(c, stored.posted, "") for c in self._at(target).history.get(slug, ()))

    def email_of(self, target, slug):
        return "" if self.get(target, slug).removed else self._at(target).emails[slug]
