"""The storage of static files."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedFilesStorage(CompressedManifestStaticFilesStorage):
    """Compressed files with digests in their names, also in the imports of scripts."""

    support_js_module_import_aggregation = True
