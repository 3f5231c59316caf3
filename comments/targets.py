"""Targets: which models may be discussed, and how label and primary key lead to an object that readers may see."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db.models import Model

from marginalia.comments.errors import TargetNotFound
from marginalia.comments.types import Comment, Target

Visible = Callable[[list[Any]], Iterable[Model]]
_registered: dict[type[Model], Visible] = {}


def register(model: type[Model], visible: Visible) -> None:
    """Let the objects of a model be discussed; called once, in an AppConfig.ready. `visible` takes primary keys and returns
    those of the objects that all readers may see: nothing of the others shows anywhere. Raises ImproperlyConfigured if the
    model is registered already."""
    if model in _registered:
        raise ImproperlyConfigured(f"comments.register: {model._meta.label} is registered already.")
    _registered[model] = visible


def unregister(model: type[Model]) -> None:
    """Let the objects of a model be discussed no more; what was said is kept. Raises KeyError."""
    del _registered[model]


def no_authors(obj: Model) -> frozenset[str]:
    """Return no account: the stock COMMENTS["AUTHORS"]."""
    return frozenset()


def registered() -> tuple[type[Model], ...]:
    """Return the models whose objects may be discussed."""
    return tuple(_registered)


def check_registered(label: str) -> None:
    """Raise ImproperlyConfigured, with what is to be done, if the model behind a label is not registered."""
    if label not in {model._meta.label_lower for model in _registered}:
        raise ImproperlyConfigured(
            f"{label} cannot be discussed: call comments.register(Model, visible=…) in the ready() of its AppConfig."
        )


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
        field = model_of(target.label)._meta.pk
        key = field.to_python(target.pk)
        # A number that is too large for its column would fail in the query.
        field.run_validators(key)
        return key
    except (ValidationError, ValueError, TypeError) as error:
        raise TargetNotFound(f"{target.pk!r} is no key of {target.label}.") from error


def resolve(target: Target) -> Model:
    """Return the object, if its model is registered and readers may see it. Raises TargetNotFound."""
    found = resolve_many([target]).get(target)
    if found is None:
        raise TargetNotFound(f"{target} is not there.")
    return found


def resolve_many(wanted: Iterable[Target]) -> dict[Target, Model]:
    """Return the objects of many targets, one look-up a label; those that are not there, or not public, are left
    out."""
    wanted = set(wanted)
    by_model: dict[type[Model], list[Any]] = defaultdict(list)
    for model, key in _keys(wanted):
        by_model[model].append(key)
    found = (obj for model, keys in by_model.items() for obj in _registered[model](keys))
    return {target: obj for obj in found if (target := of(obj)) in wanted}


def _keys(wanted: Iterable[Target]) -> Iterator[tuple[type[Model], Any]]:
    for target in wanted:
        try:
            model = model_of(target.label)
            key = key_of(target)
        except TargetNotFound:
            continue
        if model in _registered:
            yield model, key


def with_objects(comments: Iterable[Comment]) -> list[tuple[Comment, Model]]:
    """Return the comments with their targets' objects, without those whose object readers may not see."""
    comments = list(comments)
    objects = resolve_many({comment.target for comment in comments})
    return [(comment, objects[comment.target]) for comment in comments if comment.target in objects]
