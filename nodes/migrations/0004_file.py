import django_mongodb_backend.fields
from django.db import migrations

import nodes.models


class Migration(migrations.Migration):
    dependencies = [
        ("nodes", "0003_site_settings"),
    ]

    operations = [
        migrations.CreateModel(
            name="File",
            fields=[
                (
                    "id",
                    django_mongodb_backend.fields.ObjectIdAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "metadata",
                    nodes.models.documents.MetadataField(embedded_model=nodes.models.PhotoMetadata),
                ),
            ],
            options={
                "verbose_name": "file",
                "verbose_name_plural": "files",
                "db_table": "cms.assets.files",
                "managed": False,
                "default_permissions": (),
            },
        ),
    ]
