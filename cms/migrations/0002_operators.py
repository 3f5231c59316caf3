"""Allow administrators, but not moderators, to view the stored comment documents under "Operations"."""

from django.db import migrations

# The permissions: model → permission name. Django would create the same rows after the migration if they didn't exist.
PERMISSIONS = {
    "storeddiscussion": "Can view discussion",
    "storedcomment": "Can view comment (one document each)",
    "storedbucket": "Can view bucket",
}


def let_administrators_look(apps, schema_editor):
    content_types = apps.get_model("contenttypes", "ContentType")
    permissions = apps.get_model("auth", "Permission")
    group = apps.get_model("auth", "Group").objects.filter(name="Administrators").first()
    for model, name in PERMISSIONS.items():
        content_type, _new = content_types.objects.get_or_create(app_label="marginalia_comments", model=model)
        permission, _new = permissions.objects.get_or_create(
            content_type=content_type, codename=f"view_{model}", defaults={"name": name}
        )
        if group:
            group.permissions.add(permission)


class Migration(migrations.Migration):
    dependencies = [("cms", "0001_groups")]
    operations = [migrations.RunPython(let_administrators_look, migrations.RunPython.noop)]
