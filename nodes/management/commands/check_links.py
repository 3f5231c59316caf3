"""`manage.py check_links`: links and photos in public texts that lead nowhere."""

from typing import Any

from tqdm import tqdm

from mongo.clock import now
from mongo.management.base import AuditCommand, found_wrong
from nodes.models import tree
from nodes.selectors import references


class Command(AuditCommand):
    help = (
        "List what public pages refer to that readers cannot see: links and photos, by id, whose target is gone, in the trash"
        " or not public. Ends with 1 if there is any, with 2 if it could not look."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        listed, looked, broken = [], 0, 0
        quiet = options["json"] or not self.stdout.isatty()
        with tqdm(total=references.count_referring(), unit=" pages", leave=False, disable=quiet) as bar:
            for look in references.looks(tree.current(), now()):
                looked, broken = looked + look.looked, broken + len(look.broken)
                bar.update(look.looked)
                for one in look.broken:
                    if options["json"]:
                        listed.append(_as_json(one))
                    else:
                        self.stdout.write(_as_line(one))
        if options["json"]:
            self.write_json(listed, {"pages": looked, "broken": broken})
        else:
            self.stdout.write(f"{looked} public pages with references: {broken} broken.")
        if broken:
            raise found_wrong(f"{broken} links or photos are words alone.")


def _as_line(one: references.Broken) -> str:
    words = ", ".join(f"“{words}”" for words in one.words) or "a field or an insert"
    return f"{one.node} ({one.node.get_absolute_url()}): {words} → {one.target}, {one.state}"


def _as_json(one: references.Broken) -> dict[str, Any]:
    return {
        "page": one.node.pk,
        "address": one.node.get_absolute_url(),
        "title": str(one.node),
        "words": list(one.words),
        "target": one.target,
        "state": str(one.state),
    }
