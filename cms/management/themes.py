"""A theme folder, compared with the templates and style sheets that the site comes with: what it overrides that is gone."""

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

from nodes.content import registry

# Style sheets that readers get: those of the admin have properties of their own.
READERS = ("site/", "comments/")
_DEFINED = re.compile(r"(?:^|[{;\s])(--[\w-]+)\s*:")
_READ = re.compile(r"var\(\s*(--[\w-]+)\s*(,|\))")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
FILES = {
    "templates/base.html": """\
{% extends "base.html" %}{% load static %}
{# This file wins over the site's own base.html, and extends it: only the blocks below are yours. #}
{# docs/how-to/change-the-look.md lists all templates, blocks, variables and custom properties. #}

{# After the site's own style sheet and what its settings say: what stands there wins. #}
{% block look %}<link rel="stylesheet" href="{% static "theme.css" %}">{% endblock %}

{% comment %} To change another part of the frame, take its block out of this comment.
{% block brand %}<div class="site-brand"><a class="site-name" href="/">{{ site.name }}</a></div>{% endblock %}
{% block footer %}<footer class="site-footer"><p>{{ site.name }}</p></footer>{% endblock %}
{% endcomment %}
""",
    "static/theme.css": """\
/* Your colours, fonts and widths: each colour with a value for light and one for dark screens. */
:root {
  --accent: light-dark(#7a1f5c, #e6a3cf);
}
""",
}


def start(folder: Path) -> list[str]:
    """Make a theme folder with the least that a theme has; return the paths of its files. Raises FileExistsError where one of
    them is there, before any is made."""
    for name in FILES:
        if (folder / name).exists():
            raise FileExistsError(f"{folder / name} is there already")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x") as file:
            file.write(text)
    return list(FILES)


def faults(folder: Path) -> Iterator[str]:
    """Yield in words what a theme overrides or uses that the site does not have (any more)."""
    yield from _Templates(folder / "templates").faults()
    yield from _properties(folder / "static")


class _Templates:
    """All templates as readers get them, those of the theme first."""

    def __init__(self, folder: Path) -> None:
        app_folders = [Path(app.path) / "templates" for app in apps.get_app_configs()]
        shipped = [settings.BASE_DIR / "templates", *(path for path in app_folders if path.is_dir())]
        self.own = set(_names(folder))
        self.shipped = {name for path in shipped for name in _names(path)}
        self._with_theme = _engine([folder, *shipped])
        self._without = _engine(shipped)
        self.unreadable: dict[str, str] = {}
        self.get = cache(self._get)

    def _get(self, name: str, *, is_shipped: bool = False) -> Template | None:
        try:
            return (self._without if is_shipped else self._with_theme).get_template(name)
        except TemplateDoesNotExist:
            return None
        except TemplateSyntaxError as error:
            self.unreadable[name] = str(error)
            return None
        except UnicodeDecodeError:
            self.unreadable[name] = "it is no text in UTF-8."
            return None

    def faults(self) -> Iterator[str]:
        for name in sorted(self.own):
            self.get(name)
        yield from (
            f"templates/{name}: {reason}" for name, reason in sorted(self.unreadable.items()) if name in self.own
        )
        yield from self._unused()
        for name in sorted(self.own):
            yield from self._missing(name)
        for name in sorted(self.own | self.shipped):
            yield from self._unfilled(name)

    def _unused(self) -> Iterator[str]:
        by_type = {name for type in registry.types() for name in type.templates()}
        used = {other for name in self.own for other in self._uses(name) if other != name}
        for name in sorted(self.own - self.shipped - by_type - used):
            yield f"templates/{name}: the site has no such template, and no other of the theme uses it."

    def _uses(self, name: str) -> set[str]:
        template = self.get(name)
        if template is None:
            return set()
        nodes = [*template.nodelist.get_nodes_by_type(ExtendsNode), *template.nodelist.get_nodes_by_type(IncludeNode)]
        named = (node.parent_name if isinstance(node, ExtendsNode) else node.template for node in nodes)
        return {text for one in named if (text := _literal(one))}

    def _missing(self, name: str) -> Iterator[str]:
        """Yield what a template of the theme names that is nowhere: templates, static files."""
        for other in sorted(self._uses(name)):
            if self.get(other) is None and other not in self.unreadable:
                yield f"templates/{name}: there is no template “{other}”."
        template = self.get(name)
        for node in template.nodelist.get_nodes_by_type(StaticNode) if template else ():
            path = _literal(node.path)
            if path and finders.find(path) is None:
                yield f"templates/{name}: there is no static file “{path}”."

    def _unfilled(self, name: str) -> Iterator[str]:
        """Yield the blocks of a template that none has of those that it extends, if the theme has to do with it."""
        template = self.get(name)
        extends = _extends(template)
        if template is None or extends is None:
            return
        chain = list(self._above(name, template))
        there = {block for _name, _is_own, above in chain for block in _blocks(above)}
        own_above = next((other for other, is_own, _above in chain if is_own), None)
        for block in [node.name for node in extends.nodelist if isinstance(node, BlockNode)]:
            if block in there:
                continue
            if name in self.own:
                yield f"templates/{name}: block “{block}” is in no template that it extends."
            elif own_above:
                yield f"templates/{own_above}: block “{block}” is missing, which {name} fills."

    def _above(self, name: str, template: Template) -> Iterator[tuple[str, bool, Template]]:
        """Yield (name, whether it is the theme's, template) of all that a template extends, the nearest first."""
        is_own = name in self.own
        above = template
        seen = {(name, is_own)}
        while (extends := _extends(above)) and (parent := _literal(extends.parent_name)):
            # A template of the theme extends the shipped one of its own name.
            is_own = parent in self.own and not (parent == name and is_own)
            found = self.get(parent, is_shipped=not is_own)
            if found is None or (parent, is_own) in seen:
                return
            name = parent
            above = found
            seen.add((name, is_own))
            yield name, is_own, above


class _Sheet:
    """The custom properties of a style sheet: those that it sets, reads, and reads without a value for where none is set."""

    def __init__(self, text: str) -> None:
        text = _COMMENT.sub("", text)
        found = _READ.findall(text)
        self.defined = set(_DEFINED.findall(text))
        self.read = {name for name, _after in found}
        self.needed = {name for name, after in found if after == ")"}


def _engine(folders: Iterable[Path]) -> Engine:
    options = settings.TEMPLATES[0]["OPTIONS"]
    return Engine(
        dirs=[str(path) for path in folders],
        libraries=get_installed_libraries() | options.get("libraries", {}),
        loaders=["django.template.loaders.filesystem.Loader"],
    )


def _names(folder: Path) -> Iterator[str]:
    return (str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file())


def _extends(template: Template | None) -> ExtendsNode | None:
    found = template.nodelist.get_nodes_by_type(ExtendsNode) if template else []
    return found[0] if found else None


def _blocks(template: Template) -> set[str]:
    return {node.name for node in template.nodelist.get_nodes_by_type(BlockNode)}


def _literal(expression: FilterExpression) -> str:
    """Return the text that an argument of a tag is; "" for what is known only when the page is made."""
    is_text = isinstance(expression.var, str) and not expression.filters
    return str(expression.resolve(Context())) if is_text else ""


def _properties(folder: Path) -> Iterator[str]:
    own = {}
    others = []
    for finder in finders.get_finders():
        for path, storage in finder.list([]):
            if path.endswith(".css"):
                full = Path(storage.path(path))
                if full.is_relative_to(folder):
                    own[path] = _Sheet(full.read_text())
                elif path.startswith(READERS) and path not in own:
                    others.append(_Sheet(full.read_text()))
    sheets = [*own.values(), *others]
    defined = set().union(*(s.defined for s in sheets))
    read = set().union(*(s.read for s in sheets))
    for path, sheet in sorted(own.items()):
        yield from (f"static/{path}: nothing sets “{name}”." for name in sorted(sheet.needed - defined))
        yield from (f"static/{path}: nothing reads “{name}”." for name in sorted(sheet.defined - read))
