"""`manage.py check_links`: list broken links and photos in public pages and in drafts."""

from typing import Any

from tqdm import tqdm

from marginalia.mongo.clock import now
from marginalia.mongo.management.base import AuditCommand, problems_error
from nodes.models import tree
from nodes.selectors import references


class Command(AuditCommand):
    help = (
        "List links and photos in public pages and drafts that refer to deleted, trashed or unpublished content. "
        "The command exits with code 1 if there are broken references, and with code 2 if the check can't run."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        broken_json = []
        pages = 0
        drafts = 0
        broken = 0
        quiet = options["json"] or not self.stdout.isatty()
        with tqdm(total=references.count_referring(), unit=" pages", leave=False, disable=quiet) as bar:
            for look in references.check_all(tree.current(), now()):
                if look.is_of_drafts:
                    drafts += look.looked
                else:
                    pages += look.looked
                broken += len(look.broken)
                bar.update(look.looked)
                for reference in look.broken:
                    if options["json"]:
                        broken_json.append(_as_json(reference))
                    else:
                        self.stdout.write(_as_line(reference))
        if options["json"]:
            self.write_json(broken_json, {"pages": pages, "drafts": drafts, "broken": broken})
        else:
            self.stdout.write(f"Checked {pages} public pages and {drafts} drafts with references: {broken} broken.")
        if broken:
            raise problems_error(f"{broken} links or photos are broken. Edit the pages, or publish the targets.")


def _as_line(broken: references.Broken) -> str:
    words = ", ".join(f"“{words}”" for words in broken.words) or "a field or an insert"
    place = f"{broken.node.get_absolute_url()}, draft" if broken.is_draft else broken.node.get_absolute_url()
    return f"{broken.node} ({place}): {words} → {broken.target}, {broken.state}"


def _as_json(broken: references.Broken) -> dict[str, Any]:
    return {
        "page": broken.node.pk,
        "address": broken.node.get_absolute_url(),
        "title": str(broken.node),
        "draft": broken.is_draft,
        "words": list(broken.words),
        "target": broken.target,
        "state": str(broken.state),
    }
