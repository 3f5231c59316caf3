"""The settings of the web server. `gunicorn` reads this file when it is started in this folder."""

from cms.serving.gunicorn_conf import *  # noqa: F403
