"""Keep permissions that were created when the comments app still had the label `comments`."""

from django.db import migrations


def rename_label(apps, schema_editor):
    content_types = apps.get_model("contenttypes", "ContentType").objects
    for content_type in content_types.filter(app_label="comments"):
        if not content_types.filter(app_label="marginalia_comments", model=content_type.model).exists():
            content_type.app_label = "marginalia_comments"
            content_type.save()


class Migration(migrations.Migration):
    dependencies = [("cms", "0002_operators")]
    operations = [migrations.RunPython(rename_label, migrations.RunPython.noop)]
