"""gunicorn's settings for the bare view: the site's settings without hooks, which need the apps and the database."""

from cms.serving.gunicorn_conf import *  # noqa: F403

del on_starting, post_worker_init  # noqa: F821
