"""Functions that register models whose objects can have comments, and find these objects by label and primary key."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db.models import Model

from marginalia.comments import conf
from marginalia.comments.errors import TargetNotFound
from marginalia.comments.types import Comment, Target

Visible = Callable[[list[Any]], Iterable[Model]]
# A function that accepts an object, and returns its `posting.policy.Policy`.
PolicyFunction = Callable[[Any], Any]


class ForeignPages(Protocol):
    """Access to objects that represent pages on other sites."""

    def __call__(self, urls: Iterable[str], *, store: bool) -> Mapping[str, Model]:
        """Return the objects for the pages at `urls`, keyed by URL. Leave out pages of unknown sites.

        Unless `store` is true, the objects needn't be stored yet.
        """


@dataclass(frozen=True)
class Registration:
    """The arguments with which a model was registered. For their meaning, see `register`."""

    visible: Visible
    at_urls: ForeignPages | None = None
    policy: PolicyFunction | None = None
    form: type[Any] | None = None


_registered: dict[type[Model], Registration] = {}


def register(
    model: type[Model],
    visible: Visible,
    *,
    at_urls: ForeignPages | None = None,
    policy: PolicyFunction | None = None,
    form: type[Any] | None = None,
) -> None:
    """Allow comments on objects of `model`. Call this function once, in AppConfig.ready.

    Args:
        model: The model to register.
        visible: A function that accepts primary keys, and returns the objects with these keys that all readers can see.
            Comments on other objects are never shown.
        at_urls: If the objects represent pages on other sites, a function that finds or creates the objects for URLs.
            Imports use it.
        policy: A function that accepts an object, and returns its policy, for example an instance of a
            `posting.policy.ModelPolicy` class. None selects the function COMMENTS["POLICY"].
        form: A class that is derived from `posting.forms.CommentForm` and adds fields, or None for this class itself.

    Raises:
        ImproperlyConfigured: `model` is already registered.
    """
    if model in _registered:
        raise ImproperlyConfigured(f"comments.register: {model._meta.label} is already registered.")
    _registered[model] = Registration(visible, at_urls, policy, form)


def unregister(model: type[Model]) -> None:
    """Disallow comments on objects of `model`. Stored comments are not deleted.

    Raises:
        KeyError: `model` is not registered.
    """
    del _registered[model]


def no_authors(obj: Model) -> frozenset[str]:
    """Return an empty set of accounts. This function is the default for COMMENTS["AUTHORS"]."""
    return frozenset()


class Sections:
    """The parts of a site by which moderators can search for comments. By default, there are none."""

    def choices(self) -> list[tuple[str, str]]:
        """Return the key and the name of each section."""
        return []

    def targets(self, key: str) -> Iterable[Target]:
        """Return the objects in a section."""
        return ()


def registered() -> tuple[type[Model], ...]:
    """Return the models whose objects can have comments."""
    return tuple(_registered)


def registered_policy(model: type[Model]) -> PolicyFunction | None:
    """Return the function that a project has registered for the policies of a model's objects, or None."""
    return _registered[model].policy if model in _registered else None


def policy_function(model: type[Model]) -> PolicyFunction:
    """Return the function that returns the policies of a model's objects."""
    function: PolicyFunction = registered_policy(model) or conf.load("POLICY")
    return function


def form_class(label: str) -> type[Any] | None:
    """Return the form class that is registered for the model `label`, or None if there is none."""
    return next((entry.form for model, entry in _registered.items() if model._meta.label_lower == label), None)


def check_registered(label: str) -> None:
    """Check that the model `label` is registered.

    Raises:
        ImproperlyConfigured: The model is not registered. The message explains how to register it.
    """
    if label not in {model._meta.label_lower for model in _registered}:
        raise ImproperlyConfigured(
            f"{label} has no comments. Call comments.register(Model, visible=…) in the ready() method of its AppConfig."
        )


def target_for(obj: Model | Target) -> Target:
    """Return the target for `obj`. A Target is returned unchanged.

    Raises:
        TargetNotFound: `obj` has not been saved yet.
    """
    if isinstance(obj, Target):
        return obj
    if obj.pk is None:
        raise TargetNotFound(f"{obj!r} isn't saved yet.")
    return Target(obj._meta.label_lower, str(obj.pk))


def get_model(label: str) -> type[Model]:
    """Return the model for `label`, which can be an unchecked value from a request.

    Raises:
        TargetNotFound: There is no such model, or `label` is not in lowercase.
    """
    try:
        model = apps.get_model(label)
    except (LookupError, ValueError) as error:
        raise TargetNotFound(f"The model {label!r} doesn't exist.") from error
    # Django ignores the case of labels. Here, it matters, because otherwise an object could have two discussions.
    if model._meta.label_lower != label:
        raise TargetNotFound(f"The model {label!r} must be in lower case: {model._meta.label_lower}.")
    return model


def parse_key(target: Target) -> Any:
    """Return the primary key of `target`, converted to the type in which it is stored.

    Raises:
        TargetNotFound: The model does not exist, or the key is invalid for the model.
    """
    try:
        field = get_model(target.label)._meta.pk
        key = field.to_python(target.pk)
        # Check the range of numeric keys, because a query would fail if the number didn't fit into the column.
        field.run_validators(key)
        return key
    except (ValidationError, ValueError, TypeError) as error:
        raise TargetNotFound(f"{target.pk!r} isn't a valid primary key of {target.label}.") from error


def resolve(target: Target) -> Model:
    """Return the object of `target`.

    Raises:
        TargetNotFound: The object does not exist, readers can't see it, or its model is not registered.
    """
    obj = resolve_many([target]).get(target)
    if obj is None:
        raise TargetNotFound(f"{target} doesn't exist.")
    return obj


def resolve_many(requested: Iterable[Target]) -> dict[Target, Model]:
    """Return the objects of the `requested` targets, using one query per model.

    Objects that don't exist or that readers can't see are left out.
    """
    requested = set(requested)
    objects = (obj for model, keys in _keys(requested).items() for obj in _registered[model].visible(keys))
    return {target: obj for obj in objects if (target := target_for(obj)) in requested}


def existing(requested: Iterable[Target]) -> set[Target]:
    """Return those of the `requested` targets whose objects exist, even if readers can't see them."""
    return {
        Target(model._meta.label_lower, str(key))
        for model, keys in _keys(requested).items()
        for key in model._default_manager.filter(pk__in=keys).values_list("pk", flat=True)
    }


def at_urls(urls: Iterable[str], *, store: bool = False) -> dict[str, Target]:
    """Return the targets for pages on other sites, keyed by URL. Leave out pages of unknown sites.

    Unless `store` is true, the targets' objects needn't exist yet.
    """
    urls = set(urls)
    objects = (entry.at_urls(urls, store=store) for entry in _registered.values() if entry.at_urls)
    return {url: target_for(obj) for found in objects for url, obj in found.items()}


def _keys(requested: Iterable[Target]) -> dict[type[Model], list[Any]]:
    """Return the primary keys of targets by model. Leave out targets whose model isn't registered."""
    keys: dict[type[Model], list[Any]] = defaultdict(list)
    for target in requested:
        try:
            model = get_model(target.label)
            key = parse_key(target)
        except TargetNotFound:
            continue
        if model in _registered:
            keys[model].append(key)
    return keys


def with_objects(comments: Iterable[Comment]) -> list[tuple[Comment, Model]]:
    """Return `comments`, each with its object. Leave out comments on objects that readers can't see."""
    comments = list(comments)
    objects = resolve_many({comment.target for comment in comments})
    return [(comment, objects[comment.target]) for comment in comments if comment.target in objects]
