"""The site's settings for tests, without the theme of the developer who runs them."""

import os
import tempfile

from cms.testing.settings import prepare_environment, test_settings

prepare_environment()
os.environ["THEME"] = tempfile.mkdtemp(prefix="theme-", dir=os.environ["VAR_DIR"])

from cms.settings import *  # noqa: E402, F403

vars().update(test_settings(vars()))
