"""`manage.py check_links`: links and photos in public texts, and in drafts, that lead nowhere."""

from typing import Any

from tqdm import tqdm

from marginalia.mongo.clock import now
from marginalia.mongo.management.base import AuditCommand, problems_error
from nodes.models import tree
from nodes.selectors import references


class Command(AuditCommand):
    help = (
        "List what public pages and drafts refer to that readers cannot see: links and photos, by id, whose target is gone, in"
        " the trash or not public. Ends with 1 if there is any, with 2 if it could not look."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        listed = []
        pages = 0
        drafts = 0
        broken = 0
        quiet = options["json"] or not self.stdout.isatty()
        with tqdm(total=references.count_referring(), unit=" pages", leave=False, disable=quiet) as bar:
            for look in references.looks(tree.current(), now()):
                if look.is_of_drafts:
                    drafts += look.looked
                else:
                    pages += look.looked
                broken += len(look.broken)
                bar.update(look.looked)
                for one in look.broken:
                    if options["json"]:
                        listed.append(_as_json(one))
                    else:
                        self.stdout.write(_as_line(one))
        if options["json"]:
            self.write_json(listed, {"pages": pages, "drafts": drafts, "broken": broken})
        else:
            self.stdout.write(f"{pages} public pages and {drafts} drafts with references: {broken} broken.")
        if broken:
            raise problems_error(f"{broken} links or photos are words alone.")


def _as_line(one: references.Broken) -> str:
    words = ", ".join(f"“{words}”" for words in one.words) or "a field or an insert"
    place = f"{one.node.get_absolute_url()}, draft" if one.is_draft else one.node.get_absolute_url()
    return f"{one.node} ({place}): {words} → {one.target}, {one.state}"


def _as_json(one: references.Broken) -> dict[str, Any]:
    return {
        "page": one.node.pk,
        "address": one.node.get_absolute_url(),
        "title": str(one.node),
        "draft": one.is_draft,
        "words": list(one.words),
        "target": one.target,
        "state": str(one.state),
    }
