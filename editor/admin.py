"""Register the editors' pages in the admin.

Permissions are defined in nodes.access. Actions and rules are defined in nodes.actions.
"""

from django.contrib import admin

from editor.model_admin import NodeAdmin
from editor.photos.model_admin import FileAdmin, PhotoAdmin
from editor.settings import SettingsAdmin
from nodes.models import File, Node, Photo, SiteSettings

admin.site.register(Node, NodeAdmin)
admin.site.register(Photo, PhotoAdmin)
admin.site.register(File, FileAdmin)
admin.site.register(SiteSettings, SettingsAdmin)
