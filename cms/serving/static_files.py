"""The storage class for static files."""

import re

from django.core.files import File
from django.core.files.base import ContentFile
from rjsmin import jsmin
from whitenoise.storage import CompressedManifestStaticFilesStorage

# The folders that contain the project's own files. Only these files are minified.
OWN_FOLDERS = ("api/", "cms/", "comments/", "editor/", "site/")
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_LINE_START = re.compile(r"\n\s+")


class HashedFilesStorage(CompressedManifestStaticFilesStorage):
    """A storage for compressed files with digests in their names. Imports in scripts also use these names.

    The project's own scripts and style sheets are stored without comments and indentation.
    """

    support_js_module_import_aggregation = True

    def _save(self, name: str, content: File) -> str:
        if name.startswith(OWN_FOLDERS) and name.endswith((".css", ".js")):
            # Go back to the start, because the file has already been read to compute its digest.
            content.seek(0)
            text = content.read().decode()
            content = ContentFile((jsmin(text) if name.endswith(".js") else shorten_css(text)).encode())
        return super()._save(name, content)


def shorten_css(sheet: str) -> str:
    """Return a style sheet without comments and indentation. Strings in the style sheet must not contain `/*`."""
    return _LINE_START.sub("\n", _CSS_COMMENT.sub("", sheet)).strip()
