"""Marginalia as an installed package. `marginalia start` creates a site that uses the package.

Marginalia's packages (`cms`, `nodes`, `photos` and others) are in the folder `packages`, not next to this package in
site-packages, because their names are too general for an environment with other projects.
"""

import os
import sys
from importlib import metadata
from pathlib import Path

__version__ = metadata.version("marginalia-cms")

PACKAGES = Path(__file__).parent / "packages"


def activate(site: Path) -> None:
    """Make Marginalia's packages importable, and set the site's folder.

    A site's package calls this function when it is imported, so commands, web servers and tests can import the site's
    settings first.

    Args:
        site: The folder that contains manage.py, .env and the theme.
    """
    os.environ["MARGINALIA_SITE"] = str(site)
    # Search these two folders before site-packages, which may contain packages with the same names.
    sys.path[:] = dict.fromkeys([str(site), str(PACKAGES), *sys.path])
