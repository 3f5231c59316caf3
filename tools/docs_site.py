"""MkDocs hooks for the documentation site: its version, and files outside docs that pages link to.

Links in Markdown remain relative to their file, so that they also work on a code host.
"""

import os
import posixpath
import re
import tomllib
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
DOCS = "docs"
# The folder of the site that contains the files outside docs.
OUTSIDE = "repository"
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#|photo:|node:)([^)#\s]+)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the version to the site's name, and its first two numbers to the name of the output folder."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["version"]["fallback-version"]
    config.site_name = f"{config.site_name} {version}"
    config.site_dir = os.path.join(config.site_dir, ".".join(version.split(".")[:2]))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files outside docs that pages in docs link to."""
    texts = [(DOCS + "/" + page.src_uri, page.content_string) for page in files.documentation_pages()]
    linked = {_target(path, link) for path, text in texts for _, link in LINK.findall(text)}
    for path in sorted(linked):
        if not path.startswith(DOCS + "/") and (ROOT / path).is_file():
            files.append(File.generated(config, f"{OUTSIDE}/{path}", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links to files outside docs, and links in those files, with links to their places on the site."""
    source = page.file.src_uri
    path = source.removeprefix(OUTSIDE + "/") if source.startswith(OUTSIDE + "/") else f"{DOCS}/{source}"

    def replaced(match: re.Match[str]) -> str:
        target = _target(path, match[2])
        inside = target.removeprefix(DOCS + "/") if target.startswith(DOCS + "/") else f"{OUTSIDE}/{target}"
        return match[1] + posixpath.relpath(inside, posixpath.dirname(source) or ".")

    return LINK.sub(replaced, markdown)


def _target(path: str, link: str) -> str:
    """Return the path, in the repository, that a link in a file points to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
