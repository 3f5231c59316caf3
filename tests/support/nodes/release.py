"""Editors who save dishes all the while, also in a process of the release before: `python -m tests.support.nodes.release`."""

import random
import sys
from collections.abc import Sequence
from contextlib import suppress

import django
from bson import ObjectId

# Refusals in a row after which the process of the release before has nothing left to write.
REFUSALS = 40


def saved_with_mark(ids: Sequence[ObjectId], mark: str) -> ObjectId | None:
    """Add a word to the notes of one of some dishes; return which, None if the save was not acknowledged."""
    from nodes.errors import EditConflict, TooBusy
    from nodes.selectors import editable_nodes
    from nodes.services import editing
    from tests.support.nodes.build import EDITOR

    one = random.choice(ids)
    live = editable_nodes.load(one).live
    with suppress(EditConflict, TooBusy):
        editing.save(EDITOR, one, live.nonce, {"detail.notes": f"{live.fields.get('detail.notes') or ''} {mark}"})
        return one
    return None


def main() -> None:
    """Save as the release before does, until nothing is taken any more; print what was acknowledged."""
    django.setup()
    from nodes.errors import NewerVersion
    from tests.support.nodes.content import OldDish, registered

    ids = [ObjectId(name) for name in sys.stdin.readline().split()]
    number = refused = 0
    with registered(OldDish):
        while refused < REFUSALS:
            number += 1
            try:
                one = saved_with_mark(ids, f"old{number}")
            except NewerVersion:
                refused += 1
            else:
                refused = 0
                if one:
                    sys.stdout.write(f"{one} old{number}\n")
                    sys.stdout.flush()


if __name__ == "__main__":
    main()
