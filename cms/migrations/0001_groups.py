"""Create the groups for editors' accounts. nodes.access defines what the members of each group can do with a node."""

from django.db import migrations

# The permissions: (app, model) → {codename: name}. Django would create the same rows after the migration if they didn't
# exist.
PERMISSIONS = {
    ("nodes", "node"): {
        "add_node": "Can add page or post",
        "change_node": "Can change page or post",
        "delete_node": "Can delete page or post",
        "view_node": "Can view page or post",
        "publish_node": "Can publish pages and posts",
    },
    ("nodes", "sitesettings"): {"change_sitesettings": "Can change site settings"},
    ("marginalia_comments", "moderation"): {"can_moderate": "Can moderate comments"},
    ("auth", "user"): {f"{action}_user": f"Can {action} user" for action in ("add", "change", "delete", "view")},
    ("auth", "group"): {f"{action}_group": f"Can {action} group" for action in ("add", "change", "delete", "view")},
}
GROUPS = {
    "Authors": {"add_node", "change_node"},
    "Editors": {"add_node", "change_node", "view_node", "publish_node"},
    "Moderators": {"can_moderate"},
    "Administrators": {codename for names in PERMISSIONS.values() for codename in names},
}


def make_groups(apps, schema_editor):
    content_types = apps.get_model("contenttypes", "ContentType")
    permissions = apps.get_model("auth", "Permission")
    created = {}
    for (app, model), names in PERMISSIONS.items():
        content_type, _new = content_types.objects.get_or_create(app_label=app, model=model)
        for codename, name in names.items():
            created[codename], _new = permissions.objects.get_or_create(
                content_type=content_type, codename=codename, defaults={"name": name}
            )
    for name, codenames in GROUPS.items():
        group, _new = apps.get_model("auth", "Group").objects.get_or_create(name=name)
        group.permissions.add(*(created[codename] for codename in sorted(codenames)))


class Migration(migrations.Migration):
    initial = True
    dependencies = [("auth", "0001_initial"), ("contenttypes", "0001_initial"), ("nodes", "0003_site_settings")]
    operations = [migrations.RunPython(make_groups, migrations.RunPython.noop)]
