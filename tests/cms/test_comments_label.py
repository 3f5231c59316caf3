"""The migration that renames the label of the comments app."""

from importlib import import_module

from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType

migration = import_module("cms.migrations.0003_comments_label")


def test_permissions_granted_under_the_old_label_stay(mongo):
    content_type = Permission.objects.get(codename="can_moderate").content_type
    ContentType.objects.filter(pk=content_type.pk).update(app_label="comments")
    migration.rename_label(apps, None)
    assert Permission.objects.get(codename="can_moderate").content_type.app_label == "marginalia_comments"


def test_existing_content_type_is_kept(mongo):
    ContentType.objects.create(app_label="comments", model="moderation")
    migration.rename_label(apps, None)
    assert ContentType.objects.filter(app_label="comments", model="moderation").exists()
