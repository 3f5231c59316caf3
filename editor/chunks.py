"""The forms with which editors decide each conflict in a merged text on its own.

The forms contain the whole merged text: hidden text without conflicts, and for each conflict, both sides and the
editor's decision. Submitting them therefore yields the decided text, whatever has been saved in the meantime.
"""

from collections.abc import Iterator
from typing import Any, Self

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from marginalia.markup.characters import normalize_newlines
from marginalia.markup.comparing.merge import Chunk, Merged, fill
from nodes.form_fields import TextField

# The choices in a conflict. EDIT stands for the text that the editor writes.
MINE = "mine"
THEIRS = "theirs"
BOTH = "both"
EDIT = "edit"
CHOICES = (THEIRS, MINE, BOTH, EDIT)
# Maximum number of conflicts per text. Requests can contain only a limited number of fields.
MOST = 50
# Maximum number of characters in a conflict for which the form contains the base, and the box a combination of both
# sides. Requests can contain only about four times the longest text.
LONG = 4_000
_CHOOSE = gettext_lazy("Choose which version to keep.")


class _Hidden(TextField):
    def __init__(self) -> None:
        super().__init__(required=False, widget=forms.HiddenInput)


class ChunkForm(forms.Form):
    """The form for a chunk of merged text.

    If the chunk is a conflict, `text` is the text that the editor writes. Otherwise, it is the merged text.
    """

    text = _Hidden()
    gap = _Hidden()
    base = _Hidden()
    mine = _Hidden()
    theirs = _Hidden()
    choice = forms.ChoiceField(
        choices=[(choice, choice) for choice in CHOICES],
        error_messages={"required": _CHOOSE, "invalid_choice": _CHOOSE},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.is_conflict = self.add_prefix(MINE) in self.data if self.is_bound else MINE in self.initial
        if self.is_conflict:
            rows = max(3, min(20, len(str(self["text"].value() or "")) // 70 + 2))
            self.fields["text"].widget = forms.Textarea({"class": "vLargeTextField", "rows": rows})
        else:
            for name in ("base", MINE, THEIRS, "choice"):
                del self.fields[name]

    def clean(self) -> None:
        """Reject a choice if the editor has also changed the text in the box, because that text would be lost."""
        choice = self.cleaned_data.get("choice")
        chunk = self.chunk()
        unedited = (chunk.mine, chunk.theirs, _start(chunk))
        if choice in (MINE, THEIRS, BOTH) and self.own_text not in unedited:
            self.add_error(
                "choice", _("You edited this text. Choose “Write it myself” to keep your edit, or undo the edit.")
            )

    @property
    def own_text(self) -> str:
        """The text in the box, or the merged text if there is no conflict."""
        return str(self.cleaned_data.get("text", ""))

    def chunk(self) -> Chunk:
        """Return the chunk that was submitted."""
        base, mine, theirs, gap = (str(self.cleaned_data.get(name, "")) for name in ("base", MINE, THEIRS, "gap"))
        if self.is_conflict:
            return Chunk("conflict", base, mine, theirs, None, gap)
        return Chunk("merged", base, mine, theirs, self.own_text, gap)

    def decided(self) -> str:
        """Return the text that the editor chose or wrote. Without a valid choice, return the text in the box."""
        choice = self.cleaned_data.get("choice", EDIT)
        return self.own_text if choice == EDIT else self.chunk().side(choice)


class BaseChunks(forms.BaseFormSet):
    """The forms for a merged text, in order."""

    # The white space around the text.
    lead = ""
    tail = ""

    @classmethod
    def of(cls, name: str, merged: Merged) -> Self:
        """Return the forms for the text in the field `name`. Each box contains a combination of both sides."""
        merged = merged.condensed(MOST)
        chunks = cls(prefix=name, initial=[_initial(chunk) for chunk in merged.chunks])
        chunks.lead = merged.lead
        chunks.tail = merged.tail
        return chunks

    @classmethod
    def submitted(cls, name: str, posted: QueryDict) -> Self:
        """Return the submitted forms for the text in the field `name`."""
        chunks = cls(posted, prefix=name, form_kwargs={"empty_permitted": False})
        chunks.lead = normalize_newlines(posted.get(f"{name}-lead", ""))
        chunks.tail = normalize_newlines(posted.get(f"{name}-tail", ""))
        return chunks

    def decided(self) -> str:
        """Return the text with all decisions."""
        merged = Merged(tuple(form.chunk() for form in self.forms), self.lead, self.tail)
        return fill(merged, (form.decided() for form in self.conflicts()))

    def conflicts(self) -> Iterator[ChunkForm]:
        """Yield the forms of the conflicts, in order."""
        return (form for form in self.forms if form.is_conflict)


def _initial(chunk: Chunk) -> dict[str, str]:
    if chunk.text is not None:
        return {"text": chunk.text, "gap": chunk.gap}
    base = chunk.base if _is_short(chunk) else ""
    return {"text": _start(chunk), "gap": chunk.gap, "base": base, MINE: chunk.mine, THEIRS: chunk.theirs}


def _start(chunk: Chunk) -> str:
    """Return the text that the box of a conflict initially contains."""
    return chunk.combined() if _is_short(chunk) else chunk.mine


def _is_short(chunk: Chunk) -> bool:
    return len(chunk.base) + len(chunk.mine) + len(chunk.theirs) <= LONG


# There is text without a conflict before, between and after the conflicts.
Chunks = forms.formset_factory(
    ChunkForm, BaseChunks, extra=0, min_num=1, validate_min=True, max_num=2 * MOST + 1, absolute_max=2 * MOST + 1
)
