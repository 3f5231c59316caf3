"""The package of the wheel django-marginalia, with the foundations and the comments app.

It imports nothing of the site.
"""

from importlib import metadata

try:
    # The wheel's version, which is that of the commit from which it was built.
    __version__ = metadata.version("django-marginalia")
except metadata.PackageNotFoundError:
    # A clone of the repository, where the package isn't installed.
    __version__ = "0.1.dev0"
