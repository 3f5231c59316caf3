"""Django's Tasks framework: `django.tasks` on Django 6, or the `django-tasks` package on Django 5.2.

All other code imports the framework from this module.
"""

try:
    from django import tasks
    from django.tasks import checks, signals
    from django.tasks.backends.immediate import ImmediateBackend
    from django.tasks.exceptions import InvalidTask
    from django.utils.json import normalize_json
except ImportError:
    import django_tasks as tasks
    from django_tasks import checks, signals
    from django_tasks.backends.immediate import ImmediateBackend
    from django_tasks.exceptions import InvalidTaskError as InvalidTask
    from django_tasks.utils import normalize_json

# Importing checks and signals registers them, so "django_tasks" doesn't have to be in INSTALLED_APPS.
__all__ = ["ImmediateBackend", "InvalidTask", "checks", "normalize_json", "signals", "tasks"]
