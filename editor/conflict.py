"""The page on which an editor decides what both sides changed: mine, theirs, or written anew. Works without JavaScript.

Its form carries the nonce of what is stored: deciding is a save like any other, and meets the next conflict the same way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from bson import ObjectId
from django.forms import BoundField
from django.http import QueryDict
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from editor import declared, differences
from editor.differences import Fold, Line
from editor.forms import NodeForm
from nodes.errors import EditConflict
from nodes.selectors.editable_nodes import Version

# What can be chosen; mine and theirs are also the prefixes of the hidden fields that keep either side as it was shown.
MINE = "mine"
THEIRS = "theirs"
EDIT = "edit"


@dataclass(frozen=True)
class Clash:
    """A field that both sides changed: theirs and mine side by side, and a box to write in."""

    name: str
    label: str
    lines: Sequence[Line | Fold]
    is_text: bool
    choice: str
    box: BoundField
    kept: tuple[SafeString, SafeString]


@dataclass(frozen=True)
class Decided:
    """What a posted conflict page says: the data of the form, the fields to decide, and those not decided, with the reason."""

    data: QueryDict
    names: tuple[str, ...] = ()
    undecided: tuple[tuple[str, str], ...] = ()


def decide(posted: QueryDict, form: type[NodeForm]) -> Decided:
    """Read a posted form of this class; one that is no conflict page comes back as it is."""
    names = tuple(name for name in posted.getlist("conflict") if name in form.paths)
    data = posted.copy()
    undecided = []
    for name in names:
        choice = posted.get(f"choice-{name}")
        typed = _said(posted, form, name)
        sides = {side: _said(posted, form, name, f"{side}-") for side in (MINE, THEIRS)}
        if choice in sides and typed in (sides[MINE], sides[choice]):
            for key in _keys(posted, form, name):
                del data[key]
            for key in _keys(posted, form, name, f"{choice}-"):
                data.setlist(key.removeprefix(f"{choice}-"), posted.getlist(key))
        elif choice in sides:
            undecided.append((name, _("You wrote something new here: choose “Write it myself”, or put it back.")))
        elif choice != EDIT:
            undecided.append((name, _("Choose whose version to keep.")))
    return Decided(data, names, tuple(undecided))


def _keys(posted: QueryDict, form: type[NodeForm], name: str, prefix: str = "") -> list[str]:
    """Return the keys that the widget of a field sent: a date and its time are two, those of a list begin with its name."""

    def owner(rest: str) -> str:
        return max(
            (one for one in form.paths if rest == one or rest.startswith((f"{one}_", f"{one}-"))), key=len, default=""
        )

    return [key for key in posted if key.startswith(prefix) and owner(key.removeprefix(prefix)) == name]


def _said(posted: QueryDict, form: type[NodeForm], name: str, prefix: str = "") -> Any:
    """Return what the widget of a field sent, in a form in which what it shows and what it keeps hidden are alike."""
    if field := form.base_fields.get(name):
        value = field.widget.value_from_datadict(posted, {}, f"{prefix}{name}")
        return value.replace("\r\n", "\n") if isinstance(value, str) else value
    return {key.removeprefix(prefix): posted.getlist(key) for key in _keys(posted, form, name, prefix)}


class Deciding:
    """The forms of a conflict page: the one to decide in, and either side as it was, hidden."""

    def __init__(self, form: NodeForm, mine: NodeForm, theirs: NodeForm, names: Sequence[str]) -> None:
        self.form = form
        self.mine = mine
        self.theirs = theirs
        self.names = names

    @classmethod
    def after(cls, error: EditConflict, form_id: ObjectId, make: Callable[..., NodeForm]) -> Self:
        """Return the forms after a refused save: what is stored or merged by itself, and mine where both changed.

        `make` makes a form of what is edited: make(data, seen=, initial=, prefix=).
        """
        stored = Version.of(error.theirs, error.theirs["updated"])
        fields = {path: name for name, path in make(seen=stored).paths.items()}
        found = [conflict for conflict in error.merge.conflicts if conflict.path in fields]
        type = error.theirs["type"]
        sides = ({c.path: c.mine for c in found}, {c.path: c.theirs for c in found}, error.merge.changes)
        mine, theirs, merged = (
            {fields[path]: value for path, value in declared.shown(type, side).items() if path in fields}
            for side in sides
        )
        tags = ", ".join(sorted((set(stored.tags) | error.tags.added) - error.tags.removed))
        shown = {**merged, **mine, "tags": tags, "form": form_id}
        return cls(
            make(seen=stored, initial=shown),
            make(seen=stored, initial=mine, prefix=MINE),
            make(seen=stored, initial=theirs, prefix=THEIRS),
            tuple(mine),
        )

    @classmethod
    def again(cls, form: NodeForm, decided: Decided, make: Callable[..., NodeForm]) -> Self:
        """Return the forms of a posted conflict page that must be shown again."""
        sides = [make(decided.data, seen=form.seen, prefix=side) for side in (MINE, THEIRS)]
        for side in sides:
            side.is_valid()
        return cls(form, sides[0], sides[1], decided.names)

    def clashes(self, posted: Mapping[str, Any]) -> list[Clash]:
        """Return the fields to decide, with the choices that were made already."""
        return [self._clash(name, posted.get(f"choice-{name}", "")) for name in self.names]

    def _clash(self, name: str, choice: str) -> Clash:
        path = self.form.paths[name]
        type = self.form.type
        mine, theirs = (
            side.cleaned_data.get(name) if side.is_bound else side.initial.get(name)
            for side in (self.mine, self.theirs)
        )
        lines = differences.sides(path, theirs, mine, type)
        is_text = differences.is_text(path, type)
        kept = self.mine[name].as_hidden(), self.theirs[name].as_hidden()
        return Clash(name, str(self.form[name].label), lines, is_text, choice, self.form[name], kept)


def merged(error: EditConflict) -> str:
    """Return what merged by itself beside the conflict, as an editor knows it: "Title, Tags"."""
    return differences.labels(error.merge.merged, error.theirs["type"])
