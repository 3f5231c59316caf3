"""Form fields for the fields that all nodes have. They have no widgets.

The admin forms and the API use these form fields for validation.
"""

import re
from typing import Any
from urllib.parse import unquote

from bson import ObjectId
from django import forms
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from marginalia.markup.characters import is_blank, normalize_newlines
from marginalia.mongo.clock import now
from nodes.access import TOP, chosen_section, section_choices
from nodes.content import PHOTO
from nodes.models import tree
from nodes.models.stored_site import COMMENT_POLICIES
from nodes.selectors import stored_nodes


class TextField(forms.CharField):
    """A field for text that is stored exactly as typed, except that line endings are normalized to newlines."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strip=False, **kwargs)

    def to_python(self, value: Any) -> str:
        return normalize_newlines(str(super().to_python(value)))


class LineField(forms.CharField):
    """A field for a single line of text. Line breaks are replaced with spaces, and a blank line becomes ""."""

    def to_python(self, value: Any) -> str:
        line = re.sub(r"\s*[\r\n]\s*", " ", str(super().to_python(value)))
        return "" if is_blank(line) else line


class TitleField(LineField):
    """A field for a title."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=300, **kwargs)


class SlugField(forms.CharField):
    """A field for the last part of a node's URL. If it is left empty, the services generate the slug from the title."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=200, required=False, **kwargs)


class CommentsField(forms.ChoiceField):
    """A field for a node's comment policy. "" means the policy of the section or the site."""

    def __init__(self, **kwargs: Any) -> None:
        choices = [("", _("Same as the section or the site")), *COMMENT_POLICIES]
        super().__init__(required=False, choices=choices, **kwargs)


class SectionField(forms.ChoiceField):
    """A field for a node's section. The choices are the sections into which the user can put nodes of its type."""

    def __init__(self, user: Any, type: str, seen: ObjectId | None, **kwargs: Any) -> None:
        super().__init__(choices=section_choices(user, type, seen), **kwargs)

    def prepare_value(self, value: Any) -> str:
        return TOP if value is None else str(value)

    def clean(self, value: Any) -> ObjectId | None:
        return chosen_section(super().clean(value))


class AuthorField(forms.MultiValueField):
    """A field for the author: an optional account that can log in to the admin, and the name that readers see."""

    def __init__(self, seen: dict[str, Any] | None, **kwargs: Any) -> None:
        self.accounts = {"": str(_("No account"))}
        if seen and seen["_id"]:
            self.accounts[str(seen["_id"])] = seen["name"]
        staff = get_user_model()._default_manager.filter(is_staff=True, is_active=True).order_by("username")
        self.accounts.update({str(user.pk): user.get_full_name() or user.get_username() for user in staff})
        account = forms.ChoiceField(choices=list(self.accounts.items()), required=False)
        name = LineField(max_length=200, required=False)
        super().__init__((account, name), require_all_fields=False, **kwargs)

    def compress(self, values: Any) -> dict[str, Any] | None:
        if not values:
            return None
        account, name = values
        # The name is public. If an account's name is an email address, only the part before the @ is used.
        name = name or (self.accounts[account].partition("@")[0] if account else "")
        if not name:
            raise ValidationError(_("Choose an account or enter a name."))
        return {"_id": ObjectId(account) if account else None, "name": name}


class ReferenceField(forms.CharField):
    """A field for a node or photo. Editors type its URL or id.

    Nodes and photos that readers can't see are shown as `node:ID` or `photo:ID`.
    """

    def __init__(self, *, photos: bool, **kwargs: Any) -> None:
        self.photos = photos
        self.prefix = "photo:" if photos else "node:"
        super().__init__(max_length=1_000, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return format_reference(value, photos=self.photos) if isinstance(value, ObjectId) else value

    def clean(self, value: Any) -> ObjectId | None:
        typed = str(super().clean(value))
        if not typed:
            return None
        if ObjectId.is_valid(key := typed.removeprefix(self.prefix)):
            return ObjectId(key)
        target = stored_nodes.resolve_address(typed)
        if target is None or (target.metadata.type == PHOTO) != self.photos:
            raise ValidationError(
                _("No public photo has this URL.") if self.photos else _("No public page has this URL.")
            )
        target_id: ObjectId = target.pk
        return target_id


def format_reference(node_id: ObjectId, *, photos: bool) -> str:
    """Return a reference as editors see it: the target's URL if readers can see the target, otherwise its id."""
    target = stored_nodes.live_by_id(tree.current(), node_id, now())
    return unquote(target.get_absolute_url()) if target else f"{'photo' if photos else 'node'}:{node_id}"


# Fields that can be created without a user or a stored node, keyed by name.
COMMON: dict[str, forms.Field] = {
    "title": TitleField(),
    "slug": SlugField(),
    "summary": TextField(required=False),
    "comments": CommentsField(),
}
