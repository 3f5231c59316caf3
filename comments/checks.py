"""System checks for the COMMENTS setting.

docs/reference/checks.md lists the id of each check, and how to fix the problem.
"""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.utils.module_loading import import_string

from marginalia.comments import conf, targets
from marginalia.comments.backends import bucket_size, layout_classes, may_embed
from marginalia.comments.posting.policy import Mode, ModelPolicy
from marginalia.comments.types import Order
from marginalia.tasks.compat import ImmediateBackend, tasks
from marginalia.trust import MAX_TRUST_AFTER

# MongoDB's maximum document size, minus room for the other fields of a bucket.
MAX_DOCUMENT_BYTES = 16 * 1024 * 1024 - 64 * 1024
ENTRY = {"LAYOUT", "ORDER", "OPTIONS", "EMBEDDED", "MODE", "TRUST_AFTER", "LIKES"}


@register(Tags.compatibility)
def check_comments_setting(**kwargs: Any) -> list[CheckMessage]:
    """Check the COMMENTS setting and the registered models: E001–E011, W012 and E013."""
    return [*_keys(), *_tasks(), *_storage(), *_paths(), *_policies(), *_bounds(), *_embedding(), *_registered()]


def _keys() -> Iterator[CheckMessage]:
    setting = getattr(settings, "COMMENTS", {})
    for key in sorted(set(setting) - set(conf.DEFAULTS)):
        yield Error(
            f"COMMENTS has the unknown option {key!r}.",
            hint=f"Use one of: {_format_list(conf.DEFAULTS)}.",
            id="comments.E001",
        )
    alias = setting.get("DATABASE", conf.DEFAULTS["DATABASE"])
    if alias not in connections:
        yield Error(f"COMMENTS['DATABASE'] is {alias!r}, which isn't in DATABASES.", id="comments.E002")
    elif connections[alias].vendor != "mongodb":
        yield Error(
            f"COMMENTS['DATABASE'] is {alias!r}, which isn't a MongoDB connection.",
            hint="Add an entry with ENGINE 'marginalia.mongo.engine' to DATABASES and set its alias here.",
            id="comments.E002",
        )


def _tasks() -> Iterator[CheckMessage]:
    alias = conf.get("TASKS")
    if alias not in tasks.task_backends.settings:
        yield Error(
            f"COMMENTS['TASKS'] is {alias!r}, which isn't in TASKS.",
            hint="Set COMMENTS['TASKS'] to an alias in TASKS.",
            id="comments.E011",
        )
    elif isinstance(tasks.task_backends[alias], ImmediateBackend):
        yield Warning(
            f"TASKS[{alias!r}] is ImmediateBackend, so a request that posts a comment also sends its emails.",
            hint=f"Set TASKS = {{{alias!r}: {{'BACKEND': 'marginalia.tasks.MongoDBBackend'}}}} and run manage.py work.",
            id="comments.W012",
        )


def _storage() -> Iterator[CheckMessage]:
    for name, entry in _entries():
        for key in sorted(set(entry) - ENTRY):
            yield Error(
                f"{name} has the unknown option {key!r}.",
                hint=f"Use one of: {_format_list(ENTRY)}.",
                id="comments.E001",
            )
        if entry.get("ORDER", "oldest") not in list(Order):
            yield Error(
                f"{name} has the unknown order {entry['ORDER']!r}.",
                hint=f"Use one of: {_format_list(Order)}.",
                id="comments.E004",
            )
        layout = entry.get("LAYOUT", conf.entries("")[0]["LAYOUT"])
        if layout not in layout_classes():
            # An unknown default layout is reported only once, not for each target that uses it.
            if "LAYOUT" in entry:
                hint = f"Use one of: {_format_list(layout_classes())}."
                yield Error(f"{name} has the unknown layout {layout!r}.", hint=hint, id="comments.E003")
            continue
        for option in sorted(set(entry.get("OPTIONS", {})) - set(layout_classes()[layout].options)):
            yield Error(
                f"{name} sets {option!r}, which the layout {layout!r} doesn't have.",
                hint=f"Use one of: {_format_list(layout_classes()[layout].options)}.",
                id="comments.E005",
            )
        for other, layout in layout_classes().items():
            for option in sorted(set(entry.get(layout.setting, {})) - set(layout.options)):
                yield Error(
                    f"{name} sets {option!r}, which the layout {other!r} doesn't have.",
                    hint=f"Use one of: {_format_list(layout.options)}.",
                    id="comments.E005",
                )


def _paths() -> Iterator[CheckMessage]:
    for key in ("RENDERER", "POLICY", "SECTIONS", "AUTHORS", "CHOOSE_LAYOUT", "ADDRESS", "ORIGIN"):
        try:
            conf.load(key)
        except ImproperlyConfigured as error:
            yield Error(str(error), id="comments.E006")
    for path in conf.get("RULES"):
        try:
            import_string(path)
        except ImportError:
            yield Error(f"COMMENTS['RULES']: {path!r} cannot be imported.", id="comments.E006")


def _policies() -> Iterator[CheckMessage]:
    common = {"MODE": conf.get("MODE"), "TRUST_AFTER": conf.get("TRUST_AFTER")}
    for name, entry in [("COMMENTS", common), *_entries()]:
        if entry.get("MODE", Mode.OPEN) not in tuple(Mode):
            yield Error(
                f"{name}['MODE'] has the unknown value {entry['MODE']!r}.",
                hint=f"Use one of: {_format_list(Mode)}.",
                id="comments.E006",
            )
        if entry.get("TRUST_AFTER", 1) not in range(MAX_TRUST_AFTER + 1):
            message = f"{name}['TRUST_AFTER'] must be a whole number from 0 to {MAX_TRUST_AFTER}."
            yield Error(message, hint="A browser remembers only this many comments.", id="comments.E007")


def _bounds() -> Iterator[CheckMessage]:
    wrong = [
        key
        for key in ("MAX_DEPTH", "MAX_LENGTH", "MAX_BYTES", "PAGE_SIZE", "MAX_PAGE_SIZE")
        if not isinstance(conf.get(key), int) or conf.get(key) < 1
    ]
    for key in wrong:
        yield Error(f"COMMENTS[{key!r}] must be a whole number of at least 1.", id="comments.E007")
    if "MAX_BYTES" in wrong:
        return
    for name, entry in _entries():
        # Assume that a bucket contains twice as many comments as its size. It can exceed its size, because an approved
        # comment can have the same number as another comment, and because several posts may be in progress when the
        # bucket becomes full.
        size = entry.get("OPTIONS", {}).get("SIZE", bucket_size(""))
        if size * 2 * conf.get("MAX_BYTES") > MAX_DOCUMENT_BYTES:
            yield Error(
                f"{name} allows buckets of {size} comments with {conf.get('MAX_BYTES')} bytes each, which "
                "may exceed MongoDB's limit of 16 MB.",
                hint="Lower COMMENTS['MAX_BYTES'] or the option SIZE. Twice their product must be less than 16 MB.",
                id="comments.E008",
            )


def _embedding() -> Iterator[CheckMessage]:
    default, _own = conf.entries("")
    if may_embed(""):
        yield Error(
            f"COMMENTS['DEFAULT'] can't be {default['LAYOUT']!r}.",
            hint="Set this layout in COMMENTS['TARGETS'], for each label whose documents can contain comments.",
            id="comments.E009",
        )
    for label in filter(may_embed, conf.get("TARGETS")):
        name = f"COMMENTS['TARGETS'][{label!r}]"
        try:
            model = apps.get_model(label)
        except (LookupError, ValueError):
            yield Error(f"{name} is not a model.", id="comments.E009")
            continue
        if model._meta.label_lower != label:
            yield Error(f"{name} must be in lower case: {model._meta.label_lower!r}.", id="comments.E009")
            continue
        alias = _alias_of(model)
        if alias != conf.database_alias():
            yield Error(
                f"{name} can't embed comments, because {label} uses the connection {alias!r} and "
                "comments use another one.",
                hint="Only objects in the same MongoDB database as comments can embed their comments.",
                id="comments.E009",
            )
        elif _is_gridfs(label):
            yield Error(
                f"{name} can't embed comments, because its files are in GridFS.",
                hint="Use a layout that stores comments in their own collections.",
                id="comments.E009",
            )


def _registered() -> Iterator[CheckMessage]:
    for model in targets.registered():
        if not hasattr(model, "get_absolute_url"):
            yield Error(
                f"{model._meta.label} is registered for comments, but has no get_absolute_url().",
                hint="Add the method. Comments link to the page of their object.",
                id="comments.E010",
            )
        policy = targets.registered_policy(model)
        for name in policy.missing_fields(model) if isinstance(policy, ModelPolicy) else ():
            yield Error(
                f"{type(policy).__name__} uses the field {name!r}, which {model._meta.label} doesn't have.",
                hint="Set the attribute to the name of a field of the model.",
                id="comments.E013",
            )


def _alias_of(model: Any) -> str:
    from django.db import router

    return str(router.db_for_write(model))


def _is_gridfs(label: str) -> bool:
    homes = (name for layout in layout_classes().values() for name in layout.collections_of(label))
    return any(name.endswith((".files", ".chunks")) for name in homes)


def _entries() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "COMMENTS['DEFAULT']", conf.get("DEFAULT")
    for label, entry in conf.get("TARGETS").items():
        yield f"COMMENTS['TARGETS'][{label!r}]", entry


def _format_list(names: Any) -> str:
    return ", ".join(sorted(names))
