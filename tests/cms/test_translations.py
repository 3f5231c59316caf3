"""The site in Simplified Chinese: complete, compiled, and chosen in the settings."""

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils.translation.template import templatize

from nodes.services.site import save_settings
from tests.support.comments import site

ROOT = Path(__file__).parents[2]
# The pluggable app has its own catalogue.
CATALOGUES = {
    ROOT / "comments": ["comments"],
    ROOT: ["api", "cms", "editor", "marginalia", "nodes", "photos", "reader", "templates", "transfer", "wordpress"],
}
CALLS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy"}
STRING = r"""u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
CALL = re.compile(rf"\b(?:_|gettext|ngettext)\(\s*({STRING})", re.DOTALL)
ENTRY = re.compile(r'^msgid (".*")\n(?:msgid_plural ".*"\n)?msgstr(?:\[0\])? (".*")$', re.MULTILINE)
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\}|<[^>]+>")


def in_python(path: Path) -> Iterator[str]:
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in CALLS and call.args:
            text = call.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield text.value


def in_template(path: Path) -> Iterator[str]:
    for literal in CALL.findall(templatize(path.read_text(encoding="utf-8"), origin=str(path))):
        yield ast.literal_eval(literal)


def shown(folders: list[str]) -> set[str]:
    """Return the texts that are marked for translation in the files of some folders."""
    found: set[str] = set()
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix == ".py" and "migrations" not in path.parts:
                found.update(in_python(path))
            elif path.suffix in (".html", ".txt") and "templates" in path.parts:
                found.update(in_template(path))
    return found


def compiled(root: Path) -> dict[str, str]:
    with (root / "locale/zh_Hans/LC_MESSAGES/django.mo").open("rb") as file:
        catalogue = gettext.GNUTranslations(file)._catalog
    return {key[0] if isinstance(key, tuple) else key: text for key, text in catalogue.items() if key}


# Marked slow, although it is quick: a new text can wait for its translation without blocking other changes.
@pytest.mark.slow
@pytest.mark.parametrize(("root", "folders"), CATALOGUES.items(), ids=lambda value: getattr(value, "name", ""))
def test_every_text_is_translated(root, folders):
    """If this fails: `manage.py makemessages -l zh_Hans`, translate, `manage.py compilemessages` (CONTRIBUTING.md)."""
    texts, catalogue = shown(folders), compiled(root)
    assert len(texts) > 100
    assert sorted(texts - {text for text, translation in catalogue.items() if translation}) == []


@pytest.mark.parametrize("root", CATALOGUES, ids=lambda root: root.name)
def test_compiled_catalogue_matches_its_source(root):
    source = (root / "locale/zh_Hans/LC_MESSAGES/django.po").read_text(encoding="utf-8")
    assert "#, fuzzy" not in source
    joined = re.sub(r'"\n"', "", source)
    written = {ast.literal_eval(text): ast.literal_eval(translation) for text, translation in ENTRY.findall(joined)}
    written.pop("", None)
    assert written == compiled(root)


@pytest.mark.parametrize("root", CATALOGUES, ids=lambda root: root.name)
def test_translations_keep_their_placeholders(root):
    source = (root / "locale/zh_Hans/LC_MESSAGES/django.po").read_text(encoding="utf-8")
    plurals = dict(re.findall(r'^msgid "(.*)"\nmsgid_plural "(.*)"$', source, re.MULTILINE))
    for text, translation in compiled(root).items():
        original = plurals.get(text, text)
        assert sorted(PLACEHOLDER.findall(original)) == sorted(PLACEHOLDER.findall(translation)), text


def test_settings_choose_the_language_of_the_site(client, mongo):
    site.entry(text="满纸荒唐言，一把辛酸泪。")
    save_settings({"language": "zh-hans"}, {"language": "en"})
    page = client.get("/news/hello").content.decode()
    assert '<html lang="zh-hans">' in page
    for text in ("跳到正文", "搜索", "还没有评论", "写评论", "登录"):
        assert text in page
    assert "找不到页面" in client.get("/nowhere").content.decode()
    save_settings({"language": "en"}, {"language": "zh-hans"})
    assert "Skip to content" in client.get("/news/hello").content.decode()
