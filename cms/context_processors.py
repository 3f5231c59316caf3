"""What every template may show."""

from typing import Any

from django.http import HttpRequest

from mongo.connection import now
from nodes import tree
from nodes.selectors import site as site_selectors


def site(request: HttpRequest) -> dict[str, Any]:
    """Add `site` (the settings) and `menu` (the live sections of the top level, read when shown)."""

    def menu() -> list[dict[str, str]]:
        sections, moment = tree.current(), now()
        return [
            {"title": s.title, "url": sections.url(s.parent_id, s.slug)}
            for s in sections.children.get(None, ())
            if s.is_live(moment)
        ]

    return {"site": site_selectors.current().settings, "menu": menu}
