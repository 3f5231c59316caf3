"""The bar above a node's edit form, with the publication state, the buttons, and the effect of each button."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from marginalia.mongo.clock import now
from nodes.models import Node, tree
from nodes.selectors.editable_nodes import Editable
from nodes.times import day, point, time
from nodes.types import NEVER


class PublicationState(enum.StrEnum):
    """A page's publication state, as readers experience it. The value is part of a CSS class, such as "state-live"."""

    NEW = "new"
    DRAFT = "draft"
    LIVE = "live"
    HIDDEN = "hidden"  # the page is hidden because its section is not public
    SCHEDULED = "scheduled"
    EXPIRED = "expired"


@dataclass(frozen=True)
class Button:
    """A button in the bar.

    Attributes:
        notice: A description of what the button changes for readers. If editors use the button's keyboard shortcut,
            they first have to confirm this change.
        schedule_label: The button's label while the publication date in the form is in the future.
    """

    name: str
    label: str
    notice: str = ""
    schedule_label: str = ""


@dataclass(frozen=True)
class Bar:
    """The text and the buttons in the bar.

    The `save` button never changes what readers see.
    """

    publication_state: PublicationState
    state_text: str
    saved_text: str
    save: Button | None
    primary: Button | None
    menu: tuple[Button, ...] = ()


def publication_state(node: Node, moment: datetime) -> PublicationState:
    """Return a node's publication state at `moment`."""
    published = node.metadata.published
    expires = node.metadata.expires
    if published is None:
        return PublicationState.DRAFT
    if published > moment:
        return PublicationState.SCHEDULED
    if expires <= moment:
        return PublicationState.EXPIRED
    return PublicationState.LIVE if tree.current().is_live(node.metadata.parent_id, moment) else PublicationState.HIDDEN


def describe_state(node: Node, moment: datetime) -> str:
    """Return a description of a node's publication state, such as "Live since 3 May"."""
    metadata = node.metadata
    match publication_state(node, moment):
        case PublicationState.DRAFT:
            return _("Draft · not public")
        case PublicationState.SCHEDULED:
            return _("Appears %(when)s") % {"when": point(metadata.published, moment)}
        case PublicationState.EXPIRED:
            return _("Expired %(when)s") % {"when": day(metadata.expires, moment)}
        case PublicationState.HIDDEN:
            return _("Not public, because its section isn't public")
    since = _("Live since %(when)s") % {"when": day(metadata.published, moment)}
    if metadata.expires == NEVER:
        return since
    return _("%(since)s, until %(when)s") % {"since": since, "when": point(metadata.expires, moment)}


def describe_absence(node: Node, moment: datetime) -> str:
    """Return a sentence that states how long a node that isn't public will remain hidden."""
    if publication_state(node, moment) is PublicationState.SCHEDULED:
        return _("Readers can't see the page until %(when)s.") % {"when": point(node.metadata.published, moment)}
    return _("Readers can't see the page until it's published again.")


def takedown_warning(node: Node, published: datetime | None, expires: datetime) -> str:
    """Return a warning if saving these dates would hide a live page from readers. Otherwise, return "".

    No warning is needed for a publication date in the future, because such a date is rejected for live pages.
    """
    moment = now()
    if publication_state(node, moment) is not PublicationState.LIVE or (published and moment < expires):
        return ""
    return _("This will unpublish the page. Readers won't be able to see it until it's published again.")


def build_new_bar(*, may_publish: bool, is_gone: bool = False) -> Bar:
    """Return the bar for a page that isn't in the database.

    Args:
        may_publish: Whether the editor can publish.
        is_gone: Whether the page was deleted or moved to the trash while it was being edited.
    """
    state_text = _("Deleted · not public") if is_gone else _("New · not public")
    if is_gone:
        save = None
        primary = Button("_continue", _("Save as new page"))
    elif may_publish:
        save = _save_draft_button("_continue")
        primary = _publish_button()
    else:
        save = None
        primary = _save_draft_button("_continue")
    return Bar(PublicationState.NEW, state_text, _("Not saved"), save, primary)


def build_bar(
    editable: Editable, can: Mapping[str, bool], *, drafting: bool, publishing: bool, unsaved: bool, due: bool = False
) -> Bar:
    """Return the bar for a stored page.

    Args:
        editable: The page and its draft.
        can: Whether the editor can perform each action, keyed by the action's name.
        drafting: Whether the form edits the draft.
        publishing: Whether saving publishes the form's content.
        unsaved: Whether the form shows values that haven't been saved.
        due: Whether saving schedules the content instead of publishing it.
    """
    moment = now()
    state = publication_state(editable.node, moment)
    state_text = describe_state(editable.node, moment)
    if editable.draft and (draft_due := editable.draft.due):
        pattern = (
            _("%(state)s · changes go live %(when)s")
            if draft_due > moment
            else _("%(state)s · changes went live %(when)s")
        )
        state_text = pattern % {"state": state_text, "when": point(draft_due, moment)}
    elif editable.draft:
        state_text = _("%(state)s · unpublished changes") % {"state": state_text}
    version = editable.draft if drafting and editable.draft else editable.live
    saved_text = _("Not saved") if unsaved else describe_saved(version.saved_at, moment)
    if publishing and due:
        schedule = Button("_publish", _("Schedule changes"), _("Until then, readers see the live version."))
        return Bar(state, state_text, saved_text, None, schedule)
    save, primary, menu = _buttons(state, can, drafting=drafting, publishing=publishing)
    return Bar(state, state_text, saved_text, save, primary, menu)


def describe_saved(saved_at: datetime, moment: datetime) -> str:
    """Return the text in the bar that states when a page was saved.

    If the page was saved on the same day as `moment`, the date is omitted.
    """
    is_today = timezone.localtime(saved_at).date() == timezone.localtime(moment).date()
    return _("Saved %(when)s") % {"when": time(saved_at) if is_today else point(saved_at, moment)}


def describe_working_copy(stored_at: datetime) -> str:
    """Return the text in the bar that states when a working copy was stored."""
    return _("Backed up at %(when)s, but not saved") % {"when": time(stored_at)}


_Buttons = tuple[Button | None, Button | None, tuple[Button, ...]]


def _buttons(state: PublicationState, can: Mapping[str, bool], *, drafting: bool, publishing: bool) -> _Buttons:
    """Return the save button, the primary button and the buttons in the menu."""
    is_published = state in (PublicationState.LIVE, PublicationState.HIDDEN)
    if publishing:
        return None, _publish_button(_("Publish changes"), can_schedule=not is_published), ()
    if drafting:
        save = _save_draft_button("_draft") if can["draft"] else None
        label = _("Publish changes") if is_published else _("Publish now")
        publish = _publish_button(label, can_schedule=not is_published)
        return (save, publish, ()) if can["publish"] else (None, save, ())
    if not can["publish"]:
        return None, _save_draft_button("_continue"), ()
    if state is PublicationState.SCHEDULED:
        return None, Button("_continue", _("Save")), (_publish_button(_("Publish now")),)
    if state is PublicationState.EXPIRED:
        return Button("_continue", _("Save")), _publish_button(_("Publish again")), ()
    if state is PublicationState.DRAFT:
        return _save_draft_button("_continue"), _publish_button(), ()
    notice = _("Readers will see the changes immediately.")
    return _save_draft_button("_draft"), Button("_continue", _("Update"), notice), ()


def _save_draft_button(name: str) -> Button:
    return Button(name, _("Save draft"))


def _publish_button(label: str = "", *, can_schedule: bool = True) -> Button:
    schedule_label = _("Schedule…") if can_schedule else ""
    return Button("_publish", label or _("Publish"), _("Readers will see the page immediately."), schedule_label)
