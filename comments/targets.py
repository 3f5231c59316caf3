"""Targets: which objects may be discussed, and how label and primary key lead to the object."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db.models import Model

from comments import conf
from comments.errors import TargetNotFound
from comments.types import Comment, Target


def of(obj: Model | Target) -> Target:
    """Return the target that an object is. A Target is returned as it is; an unsaved object raises TargetNotFound."""
    if isinstance(obj, Target):
        return obj
    if obj.pk is None:
        raise TargetNotFound(f"{obj!r} is not saved yet.")
    return Target(obj._meta.label_lower, str(obj.pk))


def model_of(label: str) -> type[Model]:
    """Return the model behind a label. Raises TargetNotFound, also for labels that came from a request."""
    try:
        model = apps.get_model(label)
    except (LookupError, ValueError) as error:
        raise TargetNotFound(f"There is no model {label!r}.") from error
    # Django finds models in other letters too: one object must not have two discussions.
    if model._meta.label_lower != label:
        raise TargetNotFound(f"There is no model {label!r}: it is {model._meta.label_lower}.")
    return model


def key_of(target: Target) -> Any:
    """Return the primary key as the target's own collection stores it. Raises TargetNotFound for a malformed one."""
    try:
        return model_of(target.label)._meta.pk.to_python(target.pk)
    except (ValidationError, ValueError, TypeError) as error:
        raise TargetNotFound(f"{target.pk!r} is no key of {target.label}.") from error


def resolve(target: Target) -> Model:
    """Return the object, as far as COMMENTS["RESOLVER"] shows it to readers. Raises TargetNotFound."""
    found = resolve_many([target]).get(target)
    if found is None:
        raise TargetNotFound(f"{target.id} is not there.")
    return found


def resolve_many(wanted: Iterable[Target]) -> dict[Target, Model]:
    """Return the objects of many targets, one look-up a label; those that are not there, or not public, are left
    out."""
    pks: dict[str, list[str]] = defaultdict(list)
    for target in wanted:
        pks[target.label].append(target.pk)
    resolver = conf.imported("RESOLVER")
    return {
        Target(label, pk): obj for label, keys in pks.items() for pk, obj in resolver(label, sorted(set(keys))).items()
    }


def with_objects(comments: Iterable[Comment]) -> list[tuple[Comment, Model]]:
    """Return the comments with their targets' objects, without those whose object readers may not see."""
    comments = list(comments)
    objects = resolve_many({comment.target for comment in comments})
    return [(comment, objects[comment.target]) for comment in comments if comment.target in objects]


def by_default_manager(label: str, pks: list[str]) -> dict[str, Model]:
    """Return {pk: object} of the objects that the model's default manager finds: the stock COMMENTS["RESOLVER"]."""
    try:
        model = model_of(label)
        keys = [key_of(Target(label, pk)) for pk in pks]
    except TargetNotFound:
        return {}
    return {str(pk): obj for pk, obj in model._default_manager.in_bulk(keys).items()}


def collections_of(label: str) -> tuple[str, ...]:
    """Return the collections whose documents embed the discussions of `label`: the targets' own, and the one where they wait
    while they are in the trash, if there is any. Raises ImproperlyConfigured."""
    trash = conf.options(label, "embedded")["TRASH"]
    return (collection_of(label), *([str(trash)] if trash else []))


def collection_of(label: str) -> str:
    """Return the collection of the documents behind `label`. Raises ImproperlyConfigured."""
    collection = conf.options(label, "embedded")["COLLECTION"]
    if collection:
        return str(collection)
    try:
        return model_of(label)._meta.db_table
    except TargetNotFound as error:
        raise ImproperlyConfigured(f"COMMENTS: the target label {label!r} names no model.") from error
