"""The dry run and the import of an export of another comment system."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from django.contrib.auth import get_user_model
from django.utils.translation import gettext as _

from marginalia.comments.backends import backend
from marginalia.comments.errors import CommentNotFound, InvalidComment, InvalidParent
from marginalia.comments.imports.records import SourceComment, SourceState
from marginalia.comments.imports.staging import Staging
from marginalia.comments.imports.texts import to_markdown
from marginalia.comments.moderation import pending
from marginalia.comments.operations import importing
from marginalia.comments.posting import preparation
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, ImportedId, NewComment, State, Target, Verdict

MAX_URL = 500
# How many old ids are stored with one command.
BATCH = 500


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
        self.report = Report()
        self._accounts: dict[str, str] = {}

    def run(self, *, dry_run: bool = False, step: Callable[[], object] = lambda: None) -> Report:
        """Import all discussions whose page is known, and return the report. `step` is called for each comment."""
        for target in self.staging.targets():
            self.report.discussions += 1
            self._import(target, dry_run=dry_run, step=step)
        return self.report

    def _import(self, target: Target, *, dry_run: bool, step: Callable[[], object]) -> None:
        # The slug of each comment, so that replies find it. A comment that isn't public has the slug of its nearest
        # public ancestor, or "".
        slug_by_id: dict[str, str] = {}
        queued: list[tuple[SourceComment, NewComment]] = []
        olds: list[ImportedId] = []

        def public() -> Iterator[NewComment]:
            for comment in self.staging.comments(target):
                step()
                self.report.found[comment.state] += 1
                parent = slug_by_id.get(comment.parent, "")
                new = self._prepared(comment, parent)
                slug_by_id[comment.id] = parent
                if new is None:
                    continue
                if comment.state in (SourceState.PENDING, SourceState.SPAM):
                    queued.append((comment, new))
                    continue
                slug_by_id[comment.id] = importing.slug_of(new)
                if comment.anchor:
                    olds.append(ImportedId(slug_by_id[comment.id], comment.anchor, comment.likes, comment.dislikes))
                yield new

        if dry_run:
            for _new in public():
                pass
            return
        stored = importing.import_(target, public())
        self.report.new[SourceState.PUBLIC] += stored
        for comment, new in queued:
            self._hold(target, comment, new)
        for first in range(0, len(olds), BATCH):
            backend().imported.record(target, olds[first : first + BATCH])

    def _hold(self, target: Target, comment: SourceComment, new: NewComment) -> None:
        if _is_public(target, importing.slug_of(new)):
            return  # A moderator has approved the comment since the last import.
        try:
            held = importing.hold_imported(target, new, reasons=(_("The comment was pending on the old site."),))
        except InvalidParent:
            held = importing.hold_imported(
                target, replace(new, parent=""), reasons=(_("The comment was pending on the old site."),)
            )
        self.report.new[comment.state] += held.new
        if held.held and comment.state is SourceState.SPAM and held.held.verdict is Verdict.WAITING and held.new:
            pending.reject(held.held.id, verdict=Verdict.SPAM)

    def _prepared(self, comment: SourceComment, parent: str) -> NewComment | None:
        is_removed = comment.state is SourceState.REMOVED
        source = "" if is_removed else to_markdown(comment.text, comment.format).strip()
        new = NewComment(
            author=CommentAuthor("") if is_removed else self._author(comment),
            source=source,
            html=preparation.render(source) if source else "",
            token=f"{self.system}:{comment.id}",
            parent=parent,
            email="" if is_removed else preparation.one_line(comment.email),
            posted=comment.posted,
            state=State.REMOVED if is_removed else State.PUBLIC,
        )
        try:
            return preparation.clean(new)
        except InvalidComment as error:
            self.report.left_out.append(f"{comment.id}: {error.sentence}")
            return None

    def _author(self, comment: SourceComment) -> CommentAuthor:
        name = preparation.one_line(comment.name)[: preparation.MAX_NAME] or _("Anonymous")
        url = preparation.one_line(comment.website)[:MAX_URL]
        is_web = url.startswith(("http://", "https://"))
        return CommentAuthor(name=name, id=self._account(comment.email) or None, url=url if is_web else "")

    def _account(self, email: str) -> str:
        """Return the key of the only active account with an email address, or ""."""
        if not self.joins_accounts or not email:
            return ""
        if email not in self._accounts:
            found = get_user_model()._default_manager.filter(email__iexact=email, is_active=True)[:2]
            keys = [str(user.pk) for user in found]
            self._accounts[email] = keys[0] if len(keys) == 1 else ""
        return self._accounts[email]


def _is_public(target: Target, slug: str) -> bool:
    try:
        selectors.get(target, slug)
    except CommentNotFound:
        return False
    return True
