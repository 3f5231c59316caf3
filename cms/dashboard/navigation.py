"""What the admin lists, in the order in which people look for it; what operators need stands apart."""

from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from nodes import access

# The name and the models of each group; other apps' models stand in theirs, after these.
GROUPS: tuple[tuple[Promise, tuple[str, ...]], ...] = (
    (gettext_lazy("Content"), ("nodes.Node", "nodes.Photo", "marginalia_comments.Moderation")),
    (gettext_lazy("Settings and people"), ("nodes.SiteSettings", "auth.User", "auth.Group")),
)
OPERATIONS = (
    "marginalia_comments.StoredDiscussion",
    "marginalia_comments.StoredComment",
    "marginalia_comments.StoredBucket",
)


def grouped(apps: list[dict[str, Any]], user: Any) -> list[dict[str, Any]]:
    """Return the admin's list of apps by groups; the last, "Operations", for those who may set up the site."""
    models = {model["model"]._meta.label: model for app in apps for model in app["models"]}
    found = [_group(str(name), [models.pop(label) for label in labels if label in models]) for name, labels in GROUPS]
    # A page of no model, with the settings: an account's tokens are its own, whatever else it may.
    found[-1]["models"].append(_page(_("API tokens"), "tokens"))
    stored = [models.pop(label) for label in OPERATIONS if label in models]
    found += [app | {"models": rest} for app in apps if (rest := [m for m in app["models"] if m in models.values()])]
    if access.may_set_up(user):
        found.append(_group(_("Operations"), [*stored, _page(_("Failed jobs"), "jobs")]))
    return [group for group in found if group["models"]]


def _page(name: str, address: str) -> dict[str, Any]:
    return {"name": name, "object_name": address, "admin_url": reverse(f"admin:{address}"), "add_url": None}


def _group(name: str, models: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "app_label": "", "app_url": "", "has_module_perms": True, "models": models}
