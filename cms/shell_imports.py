"""Names that shells import in addition to models: `manage.py shell`, and `shell_plus` of django-extensions."""

IMPORTS = ["bson.ObjectId", "marginalia.mongo.connection.database", "nodes.access.System", "nodes.actions"]
