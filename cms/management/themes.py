"""Create a theme folder, and check a theme for names that don't exist in the site's templates and style sheets."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.contrib.staticfiles import finders
from django.template import Context, Engine, Template, TemplateDoesNotExist, TemplateSyntaxError
from django.template.backends.django import get_installed_libraries
from django.template.base import FilterExpression
from django.template.loader_tags import BlockNode, ExtendsNode, IncludeNode
from django.templatetags.static import StaticNode

from editor import extensions
from marginalia.markup.inserts.base import registered_inserts
from nodes.content import registry

# The folders that contain the public style sheets. The admin's style sheets have their own custom properties.
PUBLIC_STYLE_SHEETS = ("site/", "comments/")
_DEFINITION = re.compile(r"(?:^|[{;\s])(--[\w-]+)\s*:")
_USE = re.compile(r"var\(\s*(--[\w-]+)\s*(,|\))")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
FILES = {
    "templates/base.html": """\
{% extends "base.html" %}{% load static %}
{# This file extends the site's base.html and replaces only the blocks below. #}
{# docs/reference/theme.md lists all templates, blocks, variables and custom properties. #}

{# Loaded after the site's style sheet and settings, so these styles take precedence. #}
{% block look %}<link rel="stylesheet" href="{% static "theme.css" %}">{% endblock %}

{% comment %} To change another part of the page, move its block out of this comment.
{% block brand %}<div class="site-brand"><a class="site-name" href="/">{{ site.name }}</a></div>{% endblock %}
{% block footer %}<footer class="site-footer"><p>{{ site.name }}</p></footer>{% endblock %}
{% endcomment %}
""",
    "static/theme.css": """\
/* Your colours, fonts and widths. Each colour has a value for light mode and one for dark mode. */
:root {
  --accent: light-dark(#7a1f5c, #e6a3cf);
}
""",
}


def create(folder: Path) -> list[str]:
    """Create a minimal theme in a folder.

    Returns:
        The relative paths of the created files.

    Raises:
        FileExistsError: One of the files already exists. In this case, no file is created.
    """
    for name in FILES:
        if (folder / name).exists():
            raise FileExistsError(f"{folder / name} already exists")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x") as file:
            file.write(text)
    return list(FILES)


def find_faults(folder: Path) -> Iterator[str]:
    """Yield a message for each name that a theme overrides or uses although the site doesn't define it."""
    yield from _Templates(folder / "templates").faults()
    yield from _property_faults(folder / "static")


class _Templates:
    """All templates for readers' pages. A theme's template overrides the built-in template with the same name."""

    def __init__(self, folder: Path) -> None:
        app_folders = [Path(app.path) / "templates" for app in apps.get_app_configs()]
        shipped = [settings.SHIPPED_DIR / "templates", *(path for path in app_folders if path.is_dir())]
        self.own = set(_names(folder))
        self.shipped = {name for path in shipped for name in _names(path)}
        self._with_theme = _engine([folder, *shipped])
        self._without_theme = _engine(shipped)
        self.unreadable: dict[str, str] = {}
        self.get = cache(self._get)

    def _get(self, name: str, *, is_shipped: bool = False) -> Template | None:
        try:
            return (self._without_theme if is_shipped else self._with_theme).get_template(name)
        except TemplateDoesNotExist:
            return None
        except TemplateSyntaxError as error:
            self.unreadable[name] = str(error)
            return None
        except UnicodeDecodeError:
            self.unreadable[name] = "it is not UTF-8 text."
            return None

    def faults(self) -> Iterator[str]:
        for name in sorted(self.own):
            self.get(name)
        yield from (
            f"templates/{name}: {reason}" for name, reason in sorted(self.unreadable.items()) if name in self.own
        )
        yield from self._unused_templates()
        for name in sorted(self.own):
            yield from self._missing_references(name)
        for name in sorted(self.own | self.shipped):
            yield from self._missing_blocks(name)

    def _unused_templates(self) -> Iterator[str]:
        """Yield a message for each template in the theme that neither the site nor another template uses."""
        referenced = {other for name in self.own for other in self._references(name) if other != name}
        for name in sorted(self.own - self.shipped - _used_by_apps() - referenced):
            yield f"templates/{name}: the site has no such template, and the theme doesn't use it."

    def _references(self, name: str) -> set[str]:
        """Return the names of templates that a template extends or includes. Omit names that depend on the context."""
        template = self.get(name)
        if template is None:
            return set()
        nodes = [*template.nodelist.get_nodes_by_type(ExtendsNode), *template.nodelist.get_nodes_by_type(IncludeNode)]
        expressions = (node.parent_name if isinstance(node, ExtendsNode) else node.template for node in nodes)
        return {text for expression in expressions if (text := _literal(expression))}

    def _missing_references(self, name: str) -> Iterator[str]:
        """Yield a message for each missing template or static file that a template in the theme uses."""
        for other in sorted(self._references(name)):
            if self.get(other) is None and other not in self.unreadable:
                yield f"templates/{name}: the template “{other}” doesn't exist."
        template = self.get(name)
        for node in template.nodelist.get_nodes_by_type(StaticNode) if template else ():
            path = _literal(node.path)
            if path and finders.find(path) is None:
                yield f"templates/{name}: the static file “{path}” doesn't exist."

    def _missing_blocks(self, name: str) -> Iterator[str]:
        """Yield a message for each block that no parent template defines.

        Only templates that are in the theme, or that extend a template in the theme, are checked.
        """
        template = self.get(name)
        extends = _extends(template)
        if template is None or extends is None:
            return
        ancestors = list(self._ancestors(name, template))
        blocks = {block for _name, _is_own, ancestor in ancestors for block in _blocks(ancestor)}
        own_ancestor = next((other for other, is_own, _ancestor in ancestors if is_own), None)
        for block in [node.name for node in extends.nodelist if isinstance(node, BlockNode)]:
            if block in blocks:
                continue
            if name in self.own:
                yield f"templates/{name}: the block “{block}” doesn't exist in the extended templates."
            elif own_ancestor:
                yield f"templates/{own_ancestor}: the block “{block}” is missing. {name} needs it."

    def _ancestors(self, name: str, template: Template) -> Iterator[tuple[str, bool, Template]]:
        """Yield (name, whether the theme contains it, template) for each ancestor of a template, nearest first."""
        is_own = name in self.own
        current = template
        seen = {(name, is_own)}
        while (extends := _extends(current)) and (parent_name := _literal(extends.parent_name)):
            # If a template in the theme extends a template with its own name, the parent is the built-in template.
            is_own = parent_name in self.own and not (parent_name == name and is_own)
            parent = self.get(parent_name, is_shipped=not is_own)
            if parent is None or (parent_name, is_own) in seen:
                return
            name = parent_name
            current = parent
            seen.add((name, is_own))
            yield name, is_own, current


def _used_by_apps() -> set[str]:
    """Return the names of the templates that content types, routes, inserts and extensions of the admin use."""
    names = {insert.template for insert in registered_inserts()} | {tile.template for tile in extensions.tiles()}
    for type in registry.types():
        names.update(type.templates(), *(type.route_templates(route) for route in type.declared_routes))
    for admin in extensions.content_admins():
        names.update(panel.template for panel in admin.panels if not isinstance(panel, extensions.FieldGroup))
    return names


class _StyleSheet:
    """The custom properties that a style sheet defines, that it uses, and that it uses without a fallback."""

    def __init__(self, text: str) -> None:
        text = _COMMENT.sub("", text)
        uses = _USE.findall(text)
        self.defined = set(_DEFINITION.findall(text))
        self.used = {name for name, _after in uses}
        self.required = {name for name, after in uses if after == ")"}


def _engine(folders: Iterable[Path]) -> Engine:
    options = settings.TEMPLATES[0]["OPTIONS"]
    return Engine(
        dirs=[str(path) for path in folders],
        libraries=get_installed_libraries() | options.get("libraries", {}),
        loaders=["django.template.loaders.filesystem.Loader"],
    )


def _names(folder: Path) -> Iterator[str]:
    # Hidden files, such as .gitkeep and the swap files of text editors, aren't templates.
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith("."))
    return (str(path.relative_to(folder)) for path in files)


def _extends(template: Template | None) -> ExtendsNode | None:
    nodes = template.nodelist.get_nodes_by_type(ExtendsNode) if template else []
    return nodes[0] if nodes else None


def _blocks(template: Template) -> set[str]:
    return {node.name for node in template.nodelist.get_nodes_by_type(BlockNode)}


def _literal(expression: FilterExpression) -> str:
    """Return the text of a template tag's argument, or "" if the argument depends on the context."""
    is_text = isinstance(expression.var, str) and not expression.filters
    return str(expression.resolve(Context())) if is_text else ""


def _property_faults(folder: Path) -> Iterator[str]:
    """Yield a message for each custom property in a theme that is used but never set, or set but never used."""
    own = {}
    others = []
    for finder in finders.get_finders():
        for path, storage in finder.list([]):
            if path.endswith(".css"):
                full = Path(storage.path(path))
                if full.is_relative_to(folder):
                    own[path] = _StyleSheet(full.read_text())
                elif path.startswith(PUBLIC_STYLE_SHEETS) and path not in own:
                    others.append(_StyleSheet(full.read_text()))
    sheets = [*own.values(), *others]
    defined = set().union(*(sheet.defined for sheet in sheets))
    used = set().union(*(sheet.used for sheet in sheets))
    for path, sheet in sorted(own.items()):
        yield from (f"static/{path}: “{name}” is used, but never set." for name in sorted(sheet.required - defined))
        yield from (f"static/{path}: “{name}” is set, but never used." for name in sorted(sheet.defined - used))
