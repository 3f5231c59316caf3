"""The dry run and the import of an export of another comment system."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from django.contrib.auth import get_user_model
from django.utils.translation import gettext as _

from marginalia.comments import conf, slugs, targets
from marginalia.comments.backends import backend
from marginalia.comments.errors import InvalidComment
from marginalia.comments.imports.records import SourceComment, SourceState
from marginalia.comments.imports.staging import BATCH, Staging
from marginalia.comments.imports.texts import to_markdown
from marginalia.comments.moderation import pending
from marginalia.comments.operations.importing import EarlierImports, is_refused, queue_of
from marginalia.comments.posting import preparation
from marginalia.comments.types import CommentAuthor, ImportedId, NewComment, State, Target, Verdict

MAX_URL = 500


@dataclass
class Report:
    """What an import has found and stored.

    Attributes:
        found: The number of comments in the export by state, without those whose address leads to no page.
        new: The number of new comments by state.
        left_out: A sentence for each comment that can't be stored.
    """

    discussions: int = 0
    found: Counter[str] = field(default_factory=Counter)
    new: Counter[str] = field(default_factory=Counter)
    left_out: list[str] = field(default_factory=list)

    def add(self, other: "Report") -> None:
        """Add what another report counts."""
        self.discussions += other.discussions
        self.found += other.found
        self.new += other.new
        self.left_out += other.left_out


class Importer:
    """An import from one system. If it is interrupted or repeated, each comment is still stored only once."""

    def __init__(self, system: str, staging: Staging, *, joins_accounts: bool = False) -> None:
        """Initialize the import.

        Args:
            system: The name of the system, which is part of the comments' tokens.
            staging: The comments.
            joins_accounts: Whether comments are assigned to the account with the author's email address.
        """
        self.system = system
        self.staging = staging
        self.joins_accounts = joins_accounts
        self._accounts: dict[str, str] = {}

    def run(self, *, dry_run: bool = False, step: Callable[[], object] = lambda: None) -> Report:
        """Import all discussions whose page is known, and return the report. `step` is called for each comment."""
        report = Report()
        for group in self.staging.groups():
            report.add(self._import_group(group, dry_run=dry_run, step=step))
        return report

    def _import_group(self, group: list[Target], *, dry_run: bool, step: Callable[[], object]) -> Report:
        """Import a group of discussions. New and complete ones are imported together, and all others one at a time."""
        report = Report()
        if not dry_run:
            targets.at_urls(self.staging.foreign_urls(group), store=True)
        discussions = backend().discussions(group)
        settled = backend().settled(group)
        batches: dict[Target, _Batch] = {}
        progress_of: dict[Target, _Progress] = {}
        for target in group:
            comments = next(self.staging.batches(target))
            stored = settled.get(target)
            begun = discussions[target].begun
            # If there are no comments for the queue, it isn't needed: the public comments are all new, or all stored.
            queued = queue_of(target) if begun and any(comment.is_queued for comment in comments) else ()
            earlier = EarlierImports(stored or (), queued)
            if stored is None or len(comments) == BATCH or (begun and not self._are_stored(comments, earlier)):
                report.add(self._import(target, dry_run=dry_run, step=step))
                continue
            progress = progress_of[target] = _Progress(earlier)
            batches[target] = self._read(comments, progress, step, is_stored=begun)
        if not dry_run:
            new = backend().import_many({target: batch.new for target, batch in batches.items()})
            _store_votes(batches)
            report.new[SourceState.PUBLIC] += new
        for target, progress in progress_of.items():
            self._queue(target, progress, dry_run=dry_run)
            report.add(progress.report)
        return report

    def _import(self, target: Target, *, dry_run: bool, step: Callable[[], object]) -> Report:
        """Import a discussion that can be long, or partly stored already."""
        before = backend().discussion(target)
        earlier = EarlierImports((comment.slug for comment in backend().iterate(target)), queue_of(target))
        progress = _Progress(earlier)
        # If there are active writers, an earlier import may have been interrupted within a batch, so all batches are
        # imported again.
        may_skip = before.begun and not before.writing
        for comments in self.staging.batches(target):
            is_stored = may_skip and self._are_stored(comments, earlier)
            batch = self._read(comments, progress, step, is_stored=is_stored)
            if not dry_run:
                for held_id in batch.approved:
                    pending.approve(held_id)
                new = len(batch.approved) + backend().import_(target, batch.new, renumber=False)
                progress.report.new[SourceState.PUBLIC] += new
                _store_votes({target: batch})
        if not dry_run:
            backend().import_(target, ())  # renumbers the discussion
        self._queue(target, progress, dry_run=dry_run)
        return progress.report

    def _read(
        self, comments: Iterable[SourceComment], progress: "_Progress", step: Callable[[], object], *, is_stored: bool
    ) -> "_Batch":
        """Return what is to be stored for the public comments of a batch, and note the other comments in `progress`.

        If `is_stored` is true, an earlier import has stored the comments, so their texts aren't rendered again.
        """
        batch = _Batch()
        for comment in comments:
            step()
            progress.report.found[comment.state] += 1
            parent = progress.slug_by_id[comment.id] = progress.slug_by_id.get(comment.parent, "")
            if comment.is_queued:
                progress.queued.append((comment, parent))
                continue
            token = self._token(comment)
            slug = progress.earlier.stored(token) or slugs.from_token(token, parent, conf.get("MAX_DEPTH"))
            held = progress.earlier.held(token)
            if held and comment.state is SourceState.PUBLIC:
                if is_refused(held):
                    continue
                slug = held.slug
                batch.approved.append(held.id)
            if not is_stored:
                if (new := self._prepared(comment, parent, progress.report)) is None:
                    continue
                batch.new.append(replace(new, slug=slug))
            progress.slug_by_id[comment.id] = slug
            if comment.likes > 0:
                batch.likes[slug] = comment.likes
            if comment.anchor:
                batch.old_ids.append(ImportedId(slug, comment.anchor, max(comment.dislikes, 0)))
        return batch

    def _are_stored(self, comments: Iterable[SourceComment], earlier: EarlierImports) -> bool:
        """Return whether all public comments of a batch are stored, including those that can't be stored."""
        return all(comment.is_queued or earlier.stored(self._token(comment)) for comment in comments)

    def _queue(self, target: Target, progress: "_Progress", *, dry_run: bool) -> None:
        """Add the comments that aren't public to the moderation queue."""
        for comment, parent in progress.queued:
            if dry_run:
                self._prepared(comment, parent, progress.report)
            else:
                self._hold(target, comment, parent, progress)

    def _hold(self, target: Target, comment: SourceComment, parent: str, progress: "_Progress") -> None:
        token = self._token(comment)
        if progress.earlier.stored(token):
            return  # A moderator has approved the comment since the last import.
        held = progress.earlier.held(token)
        if held is None:
            if (new := self._prepared(comment, parent, progress.report)) is None:
                return
            reasons = (_("The comment was pending on the old site."),)
            result = backend().hold(target, new, reasons)
            progress.report.new[comment.state] += result.new
            held = result.held
        # A moderator may have returned spam to the queue.
        if held and comment.state is SourceState.SPAM and held.verdict is Verdict.WAITING and not held.decided_by:
            pending.reject(held.id, verdict=Verdict.SPAM)

    def _token(self, comment: SourceComment) -> str:
        return f"{self.system}:{comment.id}"

    def _prepared(self, comment: SourceComment, parent: str, report: Report) -> NewComment | None:
        is_removed = comment.state is SourceState.REMOVED
        source = "" if is_removed else to_markdown(comment.text, comment.format).strip()
        new = NewComment(
            author=CommentAuthor("") if is_removed else self._author(comment),
            source=source,
            html=preparation.render(source) if source else "",
            token=self._token(comment),
            parent=parent,
            email="" if is_removed else preparation.one_line(comment.email),
            posted=comment.posted,
            state=State.REMOVED if is_removed else State.PUBLIC,
        )
        try:
            return preparation.clean(new)
        except InvalidComment as error:
            report.left_out.append(f"{comment.id}: {error.sentence}")
            return None

    def _author(self, comment: SourceComment) -> CommentAuthor:
        name = preparation.one_line(comment.name)[: preparation.MAX_NAME] or _("Anonymous")
        url = preparation.one_line(comment.website)[:MAX_URL]
        is_web = url.startswith(("http://", "https://"))
        account = comment.account or self._account(comment.email)
        return CommentAuthor(name=name, id=account or None, url=url if is_web else "")

    def _account(self, email: str) -> str:
        """Return the key of the only active account with an email address, or ""."""
        if not self.joins_accounts or not email:
            return ""
        if email not in self._accounts:
            found = get_user_model()._default_manager.filter(email__iexact=email, is_active=True)[:2]
            keys = [str(user.pk) for user in found]
            self._accounts[email] = keys[0] if len(keys) == 1 else ""
        return self._accounts[email]


@dataclass
class _Progress:
    """The state of the import of one discussion.

    Attributes:
        earlier: The comments that were stored or queued before this import.
        report: The report about the discussion.
        slug_by_id: The slug of each comment, so that replies find it. A comment that isn't public has the slug of its
            nearest public ancestor, or "".
        queued: The comments for the moderation queue, each with the slug of its parent.
    """

    earlier: EarlierImports
    report: Report = field(default_factory=lambda: Report(discussions=1))
    slug_by_id: dict[str, str] = field(default_factory=dict)
    queued: list[tuple[SourceComment, str]] = field(default_factory=list)


@dataclass
class _Batch:
    """The data to store for a batch.

    Attributes:
        approved: The ids of queued comments that are now public on the old site.
        new: The comments to import. They can include comments that are stored already, and those in `approved`.
        old_ids: The old ids of the public comments.
        likes: The likes of the public comments, by slug.
    """

    approved: list[str] = field(default_factory=list)
    new: list[NewComment] = field(default_factory=list)
    old_ids: list[ImportedId] = field(default_factory=list)
    likes: dict[str, int] = field(default_factory=dict)


def _store_votes(batches: Mapping[Target, _Batch]) -> None:
    """Store the old ids and the likes of comments that are stored already."""
    backend().imported.record({target: batch.old_ids for target, batch in batches.items()})
    backend().likes.raise_to({target: batch.likes for target, batch in batches.items()})
