"""The package that the django-marginalia wheel installs: the comments app and the modules that it builds on.

The package doesn't import anything from the site's apps.
"""

from importlib import metadata

try:
    # The wheel's version, which is the version of the commit that the wheel was built from.
    __version__ = metadata.version("django-marginalia")
except metadata.PackageNotFoundError:
    # The code runs from a clone of the repository, where the package isn't installed and has no version.
    __version__ = "0.1.0"
