"""System checks for the declared collections."""

from typing import Any

from django.core.checks import CheckMessage, Error, Warning, register

from marginalia.mongo.collections import declared_collections
from marginalia.mongo.sharding import shard_key_problems


@register()
def check_declarations(**kwargs: Any) -> list[CheckMessage]:
    """Check that the declarations can be applied.

    Index names must be unique, unique indexes must contain the shard key, and a collection without a shard key must
    specify a reason.
    """
    messages: list[CheckMessage] = []
    for item in declared_collections():
        collection = item.collection
        names = [index.name for index in collection.indexes]
        if len(names) != len(set(names)):
            messages.append(
                Error(
                    f"{collection.name} has two indexes with the same name.",
                    hint="Rename one of them.",
                    id="mongo.E002",
                )
            )
        messages += [
            Error(f"{problem}.", hint="Begin the index with the shard key, or choose another key.", id="mongo.E003")
            for problem in shard_key_problems(collection)
        ]
        if collection.shard_key is None and not collection.unsharded_because:
            messages.append(
                Warning(
                    f"{collection.name} has no shard key, and doesn't declare why.",
                    hint="Set shard_key or unsharded_because.",
                    id="mongo.W004",
                )
            )
    return messages
