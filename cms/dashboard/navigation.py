"""The admin's list of models. Frequently used models come first. Models for operators form a separate group."""

from typing import Any

from django.apps import apps as installed
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from editor import extensions
from nodes import access

# The name of each group, and the models in it. Models from other apps follow, grouped by app.
GROUPS: tuple[tuple[Promise, tuple[str, ...]], ...] = (
    (gettext_lazy("Content"), ("nodes.Node", "nodes.Photo", "marginalia_comments.Moderation")),
    (gettext_lazy("Settings and people"), ("nodes.SiteSettings", "auth.User", "auth.Group")),
)
OPERATIONS = (
    "marginalia_comments.StoredDiscussion",
    "marginalia_comments.StoredComment",
    "marginalia_comments.StoredBucket",
)


def group_models(apps: list[dict[str, Any]], user: Any) -> list[dict[str, Any]]:
    """Group the models in Django's app list. Only users who can set up the site see the last group (“Operations”)."""
    models = {model["model"]._meta.label: model for app in apps for model in app["models"]}
    groups = [_group(str(name), [models.pop(label) for label in labels if label in models]) for name, labels in GROUPS]
    # Everyone can see API tokens, because each account manages its own tokens, regardless of its permissions.
    groups[-1]["models"].append(_page(_("API tokens"), "tokens"))
    operations = [models.pop(label) for label in OPERATIONS if label in models]
    others = [app | {"models": rest} for app in apps if (rest := [m for m in app["models"] if m in models.values()])]
    groups += _add_items(others, user)
    if access.may_set_up(user):
        groups.append(_group(_("Operations"), [*operations, _page(_("Jobs"), "jobs")]))
    return [group for group in groups if group["models"]]


def _add_items(groups: list[dict[str, Any]], user: Any) -> list[dict[str, Any]]:
    """Add projects' own navigation items to the groups of their apps, and return all groups."""
    by_label = {group["app_label"]: group for group in groups}
    for item in extensions.navigation_items():
        if item.is_allowed(user):
            app = installed.get_containing_app_config(item.__module__)
            label, name = (app.label, app.verbose_name) if app else ("", _("Other"))
            group = by_label.setdefault(label, _group(str(name), []) | {"app_label": label})
            group["models"].append(
                {
                    "name": item.label,
                    "object_name": item.__name__,
                    "admin_url": reverse(item.url_name),
                    "add_url": None,
                    "icon": item.icon,
                }
            )
    return list(by_label.values())


def _page(name: str, url_name: str) -> dict[str, Any]:
    return {"name": name, "object_name": url_name, "admin_url": reverse(f"admin:{url_name}"), "add_url": None}


def _group(name: str, models: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "app_label": "", "app_url": "", "has_module_perms": True, "models": models}
