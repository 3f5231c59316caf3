"""Widgets that let editors choose the target of an insert or a field by its title."""

from typing import Any

from django.contrib.admin.widgets import AdminTextInputWidget
from django.urls import reverse


class ChooserInput(AdminTextInputWidget):
    """An input for a URL or id. A script suggests matches by title. `wanted` is "node", "photo", "file" or "link"."""

    template_name = "editor/chooser.html"

    def __init__(self, wanted: str, attrs: dict[str, Any] | None = None) -> None:
        super().__init__(attrs)
        self.wanted = wanted

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        source = f"{reverse('admin:nodes_node_choose')}?for={self.wanted}"
        context: dict[str, Any] = super().get_context(name, value, {**(attrs or {}), "data-choose": source})
        return context
