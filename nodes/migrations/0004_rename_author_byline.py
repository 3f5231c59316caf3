from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("nodes", "0003_site_settings"),
    ]

    operations = [
        migrations.RenameModel(old_name="Author", new_name="Byline"),
    ]
