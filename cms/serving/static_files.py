"""The storage of static files."""

import re
from typing import Any

from django.core.files import File
from django.core.files.base import ContentFile
from rjsmin import jsmin
from whitenoise.storage import CompressedManifestStaticFilesStorage

# Folders of the project's own files. Files of other packages are served as published.
OWN_FOLDERS = ("api/", "cms/", "comments/", "editor/", "site/")
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_LINE_START = re.compile(r"\n\s+")


class HashedFilesStorage(CompressedManifestStaticFilesStorage):
    """Compressed files with digests in their names, also in the imports of scripts.

    The project's own scripts and style sheets are stored without comments and indentation.
    """

    support_js_module_import_aggregation = True

    def _save(self, name: str, content: File[Any]) -> str:
        if name.startswith(OWN_FOLDERS) and name.endswith((".css", ".js")):
            # The file was read before, for its digest.
            content.seek(0)
            text = content.read().decode()
            content = ContentFile((jsmin(text) if name.endswith(".js") else shorten_css(text)).encode())
        return super()._save(name, content)


def shorten_css(sheet: str) -> str:
    """Return a style sheet without comments and indentation. Strings must not contain `/*`."""
    return _LINE_START.sub("\n", _CSS_COMMENT.sub("", sheet)).strip()
