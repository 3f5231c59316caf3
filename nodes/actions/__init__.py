"""User actions on nodes. Each action checks permissions and rules before it writes.

The admin, the API, bulk operations, imports and commands translate each request into an action, and the action's result
into a response. Commands and imports act as `nodes.access.System`.
"""

from nodes.actions.base import NodeAction
from nodes.actions.bulk import (
    REFUSALS,
    PublishListed,
    Refused,
    SelectedNode,
    Summary,
    check_all,
    execute_all,
    reason_of,
)
from nodes.actions.create import CreateNode, Duplicate
from nodes.actions.drafts import DiscardDraft, PublishDraft, SaveDraft, ScheduleDraft, UnscheduleDraft
from nodes.actions.order import Order, PlaceNextTo, SortByName
from nodes.actions.redirect import AddRedirects, DeleteRedirect, SaveRedirect
from nodes.actions.save import Move, Publish, SaveNode, Schedule, Unpublish
from nodes.actions.tag import ChangeTag, Tag
from nodes.actions.trash import Delete, Restore, Trash

__all__ = [
    "AddRedirects",
    "SelectedNode",
    "ChangeTag",
    "CreateNode",
    "Delete",
    "DeleteRedirect",
    "DiscardDraft",
    "Duplicate",
    "Move",
    "NodeAction",
    "Order",
    "PlaceNextTo",
    "Publish",
    "PublishDraft",
    "PublishListed",
    "REFUSALS",
    "Refused",
    "Restore",
    "SaveDraft",
    "SaveNode",
    "SaveRedirect",
    "Schedule",
    "ScheduleDraft",
    "SortByName",
    "Summary",
    "Tag",
    "Trash",
    "UnscheduleDraft",
    "Unpublish",
    "check_all",
    "execute_all",
    "reason_of",
]
