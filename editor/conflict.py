"""The conflict page, where editors choose between two versions of each conflicting field, or enter new text.

In text, editors decide each conflicting paragraph on its own (`editor.chunks`).

The page works without JavaScript. The form contains the nonce of the stored version. Saving the decisions is therefore
an ordinary save, which can cause another conflict.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from bson import ObjectId
from django.forms import BoundField
from django.http import QueryDict
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from editor import declared, differences
from editor.chunks import EDIT, MINE, THEIRS, BaseChunks, ChunkForm, Chunks
from editor.differences import Fold, Line
from editor.forms import NodeForm
from marginalia.markup.comparing.diff import Change
from marginalia.markup.comparing.sequences import Budget
from nodes.errors import EditConflict
from nodes.merging import FieldConflict
from nodes.selectors.editable_nodes import Version


@dataclass(frozen=True)
class Passage:
    """A conflict in a text, with the form for the decision.

    Attributes:
        theirs: The paragraphs of the other side, with marks on the words that only this side contains.
        theirs_removed: Whether the other side is empty because it removed the text. The same applies to `mine_removed`.
        has_both: Whether both sides contain text, so that the editor can keep both.
    """

    form: ChunkForm
    number: int
    theirs: Sequence[Sequence[Change]]
    mine: Sequence[Sequence[Change]]
    theirs_removed: bool
    mine_removed: bool
    has_both: bool
    kind: Literal["conflict"] = "conflict"

    @classmethod
    def of(cls, form: ChunkForm, number: int, path: str, type: str, budget: Budget) -> Self:
        base, mine, theirs = (str(form[name].value() or "") for name in ("base", MINE, THEIRS))
        lines = differences.lines(path, theirs, mine, type, budget)
        marked = ([line.old for line in lines if line.old], [line.new for line in lines if line.new])
        return cls(form, number, *marked, bool(base and not theirs), bool(base and not mine), bool(mine and theirs))


@dataclass(frozen=True)
class TextClash:
    """A text that two editors changed: its lines without conflicts, its conflicts, and the form for each of them."""

    name: str
    box: BoundField
    chunks: BaseChunks
    passages: Sequence[Line | Fold | Passage]

    @property
    def label(self) -> str:
        return str(self.box.label)

    @property
    def count(self) -> int:
        """The number of decisions to make."""
        return sum(1 for _form in self.chunks.conflicts())


@dataclass(frozen=True)
class Clash:
    """A field that two editors changed: their versions side by side, and an input for new text."""

    name: str
    label: str
    lines: Sequence[Line | Fold]
    is_text: bool
    choice: str
    box: BoundField
    hidden_mine: SafeString
    hidden_theirs: SafeString
    count: int = 1


@dataclass(frozen=True)
class Decisions:
    """The decisions made on a conflict page.

    Attributes:
        data: The form's data, with the chosen versions of the fields.
        names: The names of the fields to decide on.
        undecided: The name of each field without a valid decision, with the reason.
    """

    data: QueryDict
    names: tuple[str, ...] = ()
    undecided: tuple[tuple[str, str], ...] = ()


def read_decisions(posted: QueryDict, form: type[NodeForm]) -> Decisions:
    """Return the decisions in a submitted form. `form` is the form's class.

    If the form isn't from a conflict page, there are no decisions, and `data` is the submitted data.
    """
    names = tuple(name for name in dict.fromkeys(posted.getlist("conflict")) if name in form.paths)
    data = posted.copy()
    undecided = []
    for name in names:
        if chunks := _submitted_chunks(posted, name):
            if not chunks.is_valid():
                undecided.append((name, _("Choose a version for each conflict in this text.")))
            data[name] = chunks.decided()
            continue
        choice = posted.get(f"choice-{name}")
        typed = _submitted_value(posted, form, name)
        sides = {side: _submitted_value(posted, form, name, f"{side}-") for side in (MINE, THEIRS)}
        if choice in sides and typed in (sides[MINE], sides[choice]):
            for key in _keys(posted, form, name):
                del data[key]
            for key in _keys(posted, form, name, f"{choice}-"):
                data.setlist(key.removeprefix(f"{choice}-"), posted.getlist(key))
        elif choice in sides:
            undecided.append(
                (name, _("You edited this text. Choose “Write it myself” to keep your edit, or undo the edit."))
            )
        elif choice != EDIT:
            undecided.append((name, _("Choose which version to keep.")))
    return Decisions(data, names, tuple(undecided))


def _submitted_chunks(posted: QueryDict, name: str) -> BaseChunks | None:
    """Return the submitted forms for the chunks of a text, or None if the field is decided as a whole."""
    return Chunks.submitted(name, posted) if f"{name}-TOTAL_FORMS" in posted else None


def _keys(posted: QueryDict, form: type[NodeForm], name: str, prefix: str = "") -> list[str]:
    """Return the keys under which the values of a field were submitted.

    A field for a date and time has two keys. For a list of rows, the keys begin with the field's name.
    """

    def owner(key: str) -> str:
        return max(
            (field for field in form.paths if key == field or key.startswith((f"{field}_", f"{field}-"))),
            key=len,
            default="",
        )

    return [key for key in posted if key.startswith(prefix) and owner(key.removeprefix(prefix)) == name]


def _submitted_value(posted: QueryDict, form: type[NodeForm], name: str, prefix: str = "") -> Any:
    """Return the submitted value of a field, normalized so that visible and hidden inputs can be compared."""
    if field := form.base_fields.get(name):
        value = field.widget.value_from_datadict(posted, {}, f"{prefix}{name}")
        return value.replace("\r\n", "\n") if isinstance(value, str) else value
    return {key.removeprefix(prefix): posted.getlist(key) for key in _keys(posted, form, name, prefix)}


class ConflictForms:
    """The forms on a conflict page: the visible form, and a hidden form for each side's version.

    `chunks` contains the forms for texts whose conflicts are decided one by one, keyed by the field's name.
    """

    def __init__(
        self,
        form: NodeForm,
        mine: NodeForm,
        theirs: NodeForm,
        names: Sequence[str],
        chunks: Mapping[str, BaseChunks],
    ) -> None:
        self.form = form
        self.mine = mine
        self.theirs = theirs
        self.names = names
        self.chunks = chunks

    @classmethod
    def after(cls, error: EditConflict, form_id: ObjectId, make: Callable[..., NodeForm]) -> Self:
        """Return the forms to show after a save was rejected because of a conflict.

        The visible form shows the stored or merged values. If both sides changed a field, the visible form shows the
        editor's own value.

        Args:
            error: The conflict, with both sides and their merge.
            form_id: The id of the rejected form. The visible form has the same id.
            make: A function that creates a form: make(data, seen=, initial=, prefix=).
        """
        stored = Version.of(error.theirs, error.theirs["updated"])
        blank = make(seen=stored)
        fields = {path: name for name, path in blank.paths.items()}
        conflicts = [conflict for conflict in error.merge.conflicts if conflict.path in fields]
        type = error.theirs["type"]
        sides = ({c.path: c.mine for c in conflicts}, {c.path: c.theirs for c in conflicts}, error.merge.changes)
        mine, theirs, merged = (
            {fields[path]: value for path, value in declared.form_values(type, side).items() if path in fields}
            for side in sides
        )
        tags = ", ".join(error.tags.applied(stored.tags))
        shown = {**merged, **mine, "tags": tags, "form": form_id}
        return cls(
            make(seen=stored, initial=shown),
            make(seen=stored, initial=mine, prefix=MINE),
            make(seen=stored, initial=theirs, prefix=THEIRS),
            tuple(mine),
            _chunks({fields[conflict.path]: conflict for conflict in conflicts}, blank),
        )

    @classmethod
    def resubmitted(cls, form: NodeForm, decisions: Decisions, make: Callable[..., NodeForm]) -> Self:
        """Return the forms for showing a submitted conflict page again. `make` is a function that creates a form."""
        sides = [make(decisions.data, seen=form.seen, prefix=side) for side in (MINE, THEIRS)]
        for side in sides:
            side.is_valid()
        submitted = ((name, _submitted_chunks(decisions.data, name)) for name in decisions.names)
        return cls(form, sides[0], sides[1], decisions.names, {name: chunks for name, chunks in submitted if chunks})

    def clashes(self, posted: Mapping[str, Any]) -> list[Clash | TextClash]:
        """Return the fields to decide on, with the choices that the editor has already made."""
        return [
            self._text_clash(name, self.chunks[name])
            if name in self.chunks
            else self._clash(name, posted.get(f"choice-{name}", ""))
            for name in self.names
        ]

    def _text_clash(self, name: str, chunks: BaseChunks) -> TextClash:
        path = self.form.paths[name]
        type = self.form.type
        passages: list[Line | Passage] = []
        budget = Budget()
        number = 0
        for form in chunks:
            if form.is_conflict:
                number += 1
                passages.append(Passage.of(form, number, path, type, budget))
            else:
                passages += differences.unchanged(str(form["text"].value() or ""))
        return TextClash(name, self.form[name], chunks, differences.fold(passages))

    def _clash(self, name: str, choice: str) -> Clash:
        path = self.form.paths[name]
        type = self.form.type
        mine, theirs = (
            side.cleaned_data.get(name) if side.is_bound else side.initial.get(name)
            for side in (self.mine, self.theirs)
        )
        lines = differences.fold(differences.lines(path, theirs, mine, type))
        is_text = differences.is_text(path, type)
        hidden_mine = _as_hidden(self.mine, name)
        hidden_theirs = _as_hidden(self.theirs, name)
        box = self.form[name]
        return Clash(name, str(box.label), lines, is_text, choice, box, hidden_mine, hidden_theirs)


def _chunks(conflicts: Mapping[str, FieldConflict], form: NodeForm) -> dict[str, BaseChunks]:
    """Return the forms for the texts in `conflicts`. The keys are the names of the fields.

    Widgets of projects might not show plain text, so fields with such a widget are decided as a whole.
    """
    return {
        name: Chunks.of(name, conflict.merged)
        for name, conflict in conflicts.items()
        if conflict.merged and name not in form.own_widgets
    }


def _as_hidden(form: NodeForm, name: str) -> SafeString:
    """Return hidden inputs for a field.

    If a project has replaced the field's widget, the inputs of this widget are hidden instead, because the widget might
    not accept values from Django's hidden inputs.
    """
    if name in form.own_widgets:
        return format_html("<div hidden>{}</div>", form[name].as_widget())
    return form[name].as_hidden()


def as_context(clashes: Sequence[Clash | TextClash]) -> dict[str, Any]:
    """Return the template context for showing conflicts, with the number of decisions that the editor has to make."""
    return {"clashes": clashes, "decision_count": sum(clash.count for clash in clashes)}


def merged_labels(error: EditConflict) -> str:
    """Return the labels of the fields that were merged without a conflict, such as "Title, Tags"."""
    return differences.labels(error.merge.merged, error.theirs["type"])
