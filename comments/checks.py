"""System checks for the setting COMMENTS. docs/reference/checks.md lists every check id and its fix."""

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
from marginalia.comments.posting.policy import Mode
from marginalia.comments.types import Order
from marginalia.tasks.compat import ImmediateBackend, tasks

# Maximum size of a stored document in MongoDB, minus room for the other fields.
MAX_DOCUMENT_BYTES = 16 * 1024 * 1024 - 64 * 1024
ENTRY = {"LAYOUT", "ORDER", "OPTIONS", "EMBEDDED"}


@register(Tags.compatibility)
def check_comments_setting(**kwargs: Any) -> list[CheckMessage]:
    """Check the setting COMMENTS and the registered models: E001–E011 and W012."""
    return [*_keys(), *_tasks(), *_storage(), *_paths(), *_bounds(), *_embedding(), *_registered()]


def _keys() -> Iterator[CheckMessage]:
    setting = getattr(settings, "COMMENTS", {})
    for key in sorted(set(setting) - set(conf.DEFAULTS)):
        yield Error(
            f"COMMENTS has no option {key!r}.", hint=f"There are {_format_list(conf.DEFAULTS)}.", id="comments.E001"
        )
    alias = setting.get("DATABASE", conf.DEFAULTS["DATABASE"])
    if alias not in connections:
        yield Error(f"COMMENTS['DATABASE'] is {alias!r}, which DATABASES does not have.", id="comments.E002")
    elif connections[alias].vendor != "mongodb":
        yield Error(
            f"COMMENTS['DATABASE'] is {alias!r}, which is not a MongoDB.",
            hint="Give DATABASES an entry with ENGINE 'marginalia.mongo.engine' and name it here.",
            id="comments.E002",
        )


def _tasks() -> Iterator[CheckMessage]:
    alias = conf.get("TASKS")
    if alias not in tasks.task_backends.settings:
        yield Error(
            f"COMMENTS['TASKS'] is {alias!r}, which TASKS does not have.",
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
            yield Error(f"{name} has no option {key!r}.", hint=f"There are {_format_list(ENTRY)}.", id="comments.E001")
        if entry.get("ORDER", "oldest") not in list(Order):
            yield Error(
                f"{name} names the order {entry['ORDER']!r}.",
                hint=f"There are {_format_list(Order)}.",
                id="comments.E004",
            )
        layout = entry.get("LAYOUT", conf.entries("")[0]["LAYOUT"])
        if layout not in layout_classes():
            # The default layout is reported once, not for each target that uses it.
            if "LAYOUT" in entry:
                hint = f"There are {_format_list(layout_classes())}."
                yield Error(f"{name} names the layout {layout!r}.", hint=hint, id="comments.E003")
            continue
        for option in sorted(set(entry.get("OPTIONS", {})) - set(layout_classes()[layout].options)):
            yield Error(
                f"{name}: the layout {layout!r} has no option {option!r}.",
                hint=f"There are {_format_list(layout_classes()[layout].options)}.",
                id="comments.E005",
            )
        for other, layout in layout_classes().items():
            for option in sorted(set(entry.get(layout.setting, {})) - set(layout.options)):
                yield Error(
                    f"{name}: the layout {other!r} has no option {option!r}.",
                    hint=f"There are {_format_list(layout.options)}.",
                    id="comments.E005",
                )


def _paths() -> Iterator[CheckMessage]:
    for key in ("RENDERER", "POLICY", "AUTHORS", "CHOOSE_LAYOUT", "ADDRESS", "ORIGIN"):
        try:
            conf.load(key)
        except ImproperlyConfigured as error:
            yield Error(str(error), id="comments.E006")
    for path in conf.get("RULES"):
        try:
            import_string(path)
        except ImportError:
            yield Error(f"COMMENTS['RULES']: {path!r} cannot be imported.", id="comments.E006")
    if (mode := conf.get("MODE")) not in tuple(Mode):
        yield Error(
            f"COMMENTS['MODE']: there is no {mode!r}.",
            hint=f"There are {_format_list(Mode)}.",
            id="comments.E006",
        )


def _bounds() -> Iterator[CheckMessage]:
    wrong = [
        key
        for key in ("MAX_DEPTH", "MAX_LENGTH", "MAX_BYTES", "PAGE_SIZE", "MAX_PAGE_SIZE")
        if not isinstance(conf.get(key), int) or conf.get(key) < 1
    ]
    for key in wrong:
        yield Error(f"COMMENTS[{key!r}] must be a whole number above 0.", id="comments.E007")
    if "MAX_BYTES" in wrong:
        return
    for name, entry in _entries():
        # A bucket can grow beyond its size, because approved comments share a number, and because several posts may be
        # in progress when the bucket becomes full.
        size = entry.get("OPTIONS", {}).get("SIZE", bucket_size(""))
        if size * 2 * conf.get("MAX_BYTES") > MAX_DOCUMENT_BYTES:
            yield Error(
                f"{name}: a bucket of {size} comments of {conf.get('MAX_BYTES')} bytes may outgrow MongoDB's 16 MB.",
                hint="Lower COMMENTS['MAX_BYTES'] or the option SIZE: twice their product must fit.",
                id="comments.E008",
            )


def _embedding() -> Iterator[CheckMessage]:
    default, _own = conf.entries("")
    if may_embed(""):
        yield Error(
            f"COMMENTS['DEFAULT'] cannot be {default['LAYOUT']!r}.",
            hint="Name the labels whose documents may hold comments in COMMENTS['TARGETS'].",
            id="comments.E009",
        )
    for label in filter(may_embed, conf.get("TARGETS")):
        name = f"COMMENTS['TARGETS'][{label!r}]"
        try:
            model = apps.get_model(label)
        except (LookupError, ValueError):
            yield Error(f"{name}: there is no such model.", id="comments.E009")
            continue
        if model._meta.label_lower != label:
            yield Error(f"{name}: write {model._meta.label_lower!r}.", id="comments.E009")
            continue
        alias = _alias_of(model)
        if alias != conf.database_alias():
            yield Error(
                f"{name}: the documents of {label} are behind the connection {alias!r}, comments behind another.",
                hint="Only targets in the same MongoDB database can hold their comments.",
                id="comments.E009",
            )
        elif _is_gridfs(label):
            yield Error(
                f"{name}: files in GridFS cannot hold their comments.",
                hint="Keep them in a layout of collections of its own.",
                id="comments.E009",
            )


def _registered() -> Iterator[CheckMessage]:
    for model in targets.registered():
        if not hasattr(model, "get_absolute_url"):
            yield Error(
                f"{model._meta.label} is registered to be discussed and has no get_absolute_url().",
                hint="Comments lead back to the page of what they are about.",
                id="comments.E010",
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
