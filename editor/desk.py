"""The desk around a node's form: how the page stands towards readers, in words, and what each of its buttons will do."""

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


class Standing(enum.StrEnum):
    """How a page stands towards readers; the value is a class of its mark."""

    NEW = "new"
    DRAFT = "draft"
    LIVE = "live"
    HIDDEN = "hidden"  # by its section
    SCHEDULED = "scheduled"
    EXPIRED = "expired"


@dataclass(frozen=True)
class Button:
    """A button of the form. `asks`: what it does to what readers see, to be confirmed where it was not pressed itself;
    `schedule`: what it says instead while the form names a time ahead."""

    name: str
    label: str
    asks: str = ""
    schedule: str = ""


@dataclass(frozen=True)
class Bar:
    """What the bar says and does. `save` changes nothing that readers see; where there is none, `primary` does not either."""

    standing: Standing
    state: str
    saved: str
    save: Button | None
    primary: Button | None
    more: tuple[Button, ...] = ()


def standing(node: Node, moment: datetime) -> Standing:
    """Return how a node stands towards readers at `moment`."""
    published = node.metadata.published
    expires = node.metadata.expires
    if published is None:
        return Standing.DRAFT
    if published > moment:
        return Standing.SCHEDULED
    if expires <= moment:
        return Standing.EXPIRED
    return Standing.LIVE if tree.current().is_live(node.metadata.parent_id, moment) else Standing.HIDDEN


def state(node: Node, moment: datetime) -> str:
    """Return how a node stands towards readers in words: "Live since 3 May"."""
    metadata = node.metadata
    match standing(node, moment):
        case Standing.DRAFT:
            return _("Draft · not public")
        case Standing.SCHEDULED:
            return _("Appears %(when)s") % {"when": point(metadata.published, moment)}
        case Standing.EXPIRED:
            return _("Expired %(when)s") % {"when": day(metadata.expires, moment)}
        case Standing.HIDDEN:
            return _("Not public, as its section is not")
    since = _("Live since %(when)s") % {"when": day(metadata.published, moment)}
    if metadata.expires == NEVER:
        return since
    return _("%(since)s, until %(when)s") % {"since": since, "when": point(metadata.expires, moment)}


def gone_until(node: Node, moment: datetime) -> str:
    """Return how long readers get nothing of a node that is not public."""
    if standing(node, moment) is Standing.SCHEDULED:
        return _("until %(when)s readers get 404.") % {"when": point(node.metadata.published, moment)}
    return _("readers get 404 until it is published again.")


def ahead(node: Node, at: datetime | None) -> datetime | None:
    """Return `at`, said of when a node appears, if that is ahead and readers have it already: then its changes appear, and they
    see the live version until then."""
    moment = now()
    return at if at and at > moment and node.is_live(moment) else None


def takes_down(node: Node, published: datetime | None, expires: datetime) -> str:
    """Return what these dates do to a page that readers see, as a question; "" if they go on seeing it."""
    moment = now()
    stays = ahead(node, published) or (published and published <= moment)
    if standing(node, moment) is not Standing.LIVE or (stays and moment < expires):
        return ""
    return _("This takes the page down: readers get 404 until it is published again.")


def bar_of_new(*, may_publish: bool, is_gone: bool = False) -> Bar:
    """Return the bar of a page that is not saved yet. `is_gone`: it was, and went while it was being edited."""
    told = _("Gone · not public") if is_gone else _("New · not public")
    if is_gone:
        save = None
        primary = Button("_continue", _("Save as a new page"))
    elif may_publish:
        save = _save_draft("_continue")
        primary = _publish()
    else:
        save = None
        primary = _save_draft("_continue")
    return Bar(Standing.NEW, told, _("Not saved"), save, primary)


def bar(
    found: Editable, can: Mapping[str, bool], *, drafting: bool, publishing: bool, unsaved: bool, due: bool = False
) -> Bar:
    """Return the bar of a page. `can`: what its editor may, by the names of actions. `drafting`: the form is over the draft.

    `publishing`: what it says is about to be published, or scheduled if `due`. `unsaved`: the form shows what is not stored.
    """
    moment = now()
    name = standing(found.node, moment)
    told = state(found.node, moment)
    if found.draft and (at := found.draft.due):
        words = _("%(state)s · changes appear %(when)s") if at > moment else _("%(state)s · changes appeared %(when)s")
        told = words % {"state": told, "when": point(at, moment)}
    elif found.draft:
        told = _("%(state)s · changes not published") % {"state": told}
    version = found.draft if drafting and found.draft else found.live
    saved = _("Not saved") if unsaved else saved_at(version.saved_at, moment)
    if publishing and due:
        schedule = Button("_publish", _("Schedule changes"), _("Readers see the live version until then."))
        return Bar(name, told, saved, None, schedule)
    save, primary, more = _buttons(name, can, drafting=drafting, publishing=publishing)
    return Bar(name, told, saved, save, primary, more)


def saved_at(when: datetime, moment: datetime) -> str:
    """Return when something was saved, the time alone if it was today."""
    is_today = timezone.localtime(when).date() == timezone.localtime(moment).date()
    return _("Saved %(when)s") % {"when": time(when) if is_today else point(when, moment)}


def kept_at(when: datetime) -> str:
    """Return when what was typed and is not saved was kept, in the words of the bar."""
    return _("Kept %(when)s, not saved") % {"when": time(when)}


_Buttons = tuple[Button | None, Button | None, tuple[Button, ...]]


def _buttons(name: Standing, can: Mapping[str, bool], *, drafting: bool, publishing: bool) -> _Buttons:
    """Return (the one that saves, the primary one, those of the menu)."""
    if publishing:
        return None, _publish(_("Publish changes")), ()
    if drafting:
        save = _save_draft("_draft") if can["draft"] else None
        again = _publish(_("Publish changes") if name in (Standing.LIVE, Standing.HIDDEN) else _("Publish now"))
        return (save, again, ()) if can["publish"] else (None, save, ())
    if not can["publish"]:
        return None, _save_draft("_continue"), ()
    if name is Standing.SCHEDULED:
        return None, Button("_continue", _("Save")), (_publish(_("Publish now")),)
    if name is Standing.EXPIRED:
        return Button("_continue", _("Save")), _publish(_("Publish again")), ()
    if name is Standing.DRAFT:
        return _save_draft("_continue"), _publish(), ()
    asks = _("Readers see the changes at once.")
    schedule = _("Schedule changes…")
    return _save_draft("_draft"), Button("_continue", _("Update"), asks, schedule), ()


def _save_draft(name: str) -> Button:
    return Button(name, _("Save draft"))


def _publish(label: str = "") -> Button:
    return Button("_publish", label or _("Publish"), _("Readers see it at once."), _("Schedule…"))
