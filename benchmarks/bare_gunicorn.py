"""gunicorn's settings for the bare view: those of the site without its hooks, which need the site's apps and its database."""

from cms.serving.gunicorn_conf import *  # noqa: F403

del on_starting, post_worker_init  # noqa: F821
