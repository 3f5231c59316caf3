"""Editors who save dishes continuously, some of them in a process that runs the previous release.

Usage: `python -m tests.support.nodes.release`.
"""

import random
import sys
from collections.abc import Sequence
from contextlib import suppress

import django
from bson import ObjectId

# After this many refusals in a row, all dishes have been upgraded, so the process of the previous release ends.
REFUSALS = 40


def save_with_mark(ids: Sequence[ObjectId], mark: str) -> ObjectId | None:
    """Add a word to the notes of a random dish. Return the dish's id, or None if the save was refused."""
    from cms.testing.build import EDITOR
    from nodes.errors import EditConflict, TooBusy
    from nodes.selectors import editable_nodes
    from nodes.services import editing

    dish_id = random.choice(ids)
    live = editable_nodes.load(dish_id).live
    with suppress(EditConflict, TooBusy):
        notes = f"{live.fields.get('detail.notes') or ''} {mark}"
        editing.save(EDITOR, dish_id, live.nonce, {"detail.notes": notes})
        return dish_id
    return None


def main() -> None:
    """Save dishes like the previous release until saves are refused. Print the acknowledged saves."""
    django.setup()
    from nodes.errors import NewerVersion
    from tests.support.nodes.content import OldDish, registered

    ids = [ObjectId(name) for name in sys.stdin.readline().split()]
    number = refused = 0
    with registered(OldDish):
        while refused < REFUSALS:
            number += 1
            try:
                dish_id = save_with_mark(ids, f"old{number}")
            except NewerVersion:
                refused += 1
            else:
                refused = 0
                if dish_id:
                    sys.stdout.write(f"{dish_id} old{number}\n")
                    sys.stdout.flush()


if __name__ == "__main__":
    main()
