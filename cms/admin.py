"""Accounts and groups in the admin: Django's classes, with a description of each role next to its checkbox."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import Field, ManyToManyField
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from cms.accounts import roles
from marginalia.comments.admin.lists import CheckedLists


class RolesField(forms.ModelMultipleChoiceField):
    """A form field for choosing groups, with a description of what each group's members can do."""

    def label_from_instance(self, group: Group) -> str:
        description = roles.describe_group(group.name)
        return f"{group.name}: {description}" if description else group.name


class AccountAdmin(CheckedLists, UserAdmin):
    """The admin pages for accounts."""

    list_title = _("People")
    filter_horizontal = ()
    readonly_fields = ("last_login", "date_joined", "password_link")
    fieldsets = (
        (None, {"fields": ("username", "password_link")}),
        (_("Personal info"), {"fields": ("first_name", "last_name", "email")}),
        (_("Roles"), {"fields": ("groups", "is_staff", "is_active", "is_superuser")}),
        # This group of fields is collapsed, because roles contain all permissions that most accounts need.
        (_("Individual permissions"), {"fields": ("user_permissions",), "classes": ("collapse",)}),
        (_("Important dates"), {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = (
        (None, {"fields": ("username", "email", "password1", "password2")}),
        (_("Roles"), {"fields": ("groups", "is_staff")}),
    )
    # Labels and help texts that use the site's terms instead of Django's.
    field_options: ClassVar[dict[str, Any]] = {
        "groups": {"label": _("Roles"), "help_text": ""},
        "is_staff": {"label": _("Can log in to the admin"), "help_text": _("Required for every role.")},
        "is_active": {
            "label": _("Active"),
            "help_text": _(
                "Clear this checkbox to prevent the user from logging in. Do this instead of deleting the account."
            ),
        },
        "is_superuser": {
            "label": _("Superuser"),
            "help_text": _("Has all permissions, regardless of the account's roles."),
        },
    }

    @admin.display(description=_("Password"))
    def password_link(self, user: User) -> str:
        """Return a link to the page for changing the password.

        Unlike Django's field, the link doesn't show the hash algorithm.
        """
        return format_html(
            '<a href="{}">{}</a>', reverse("admin:auth_user_password_change", args=[user.pk]), _("Change password")
        )

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Allow new accounts to log in to the admin by default, because all roles require it."""
        return {"is_staff": True, **super().get_changeform_initial_data(request)}

    def formfield_for_dbfield(self, db_field: Field, request: HttpRequest, **kwargs: Any) -> Any:
        return super().formfield_for_dbfield(db_field, request, **kwargs, **self.field_options.get(db_field.name, {}))

    def formfield_for_manytomany(self, db_field: ManyToManyField, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "groups":
            kwargs["form_class"] = RolesField
        kwargs["widget"] = forms.CheckboxSelectMultiple
        return super().formfield_for_manytomany(db_field, request, **kwargs)


class RoleAdmin(CheckedLists, GroupAdmin):
    """The admin pages for roles, which are Django's groups."""

    list_title = _("Roles")
    list_display = ("name", "description")
    filter_horizontal = ()

    def formfield_for_manytomany(self, db_field: ManyToManyField, request: HttpRequest, **kwargs: Any) -> Any:
        # Replace Django's two list boxes, because screen readers can't find their labels.
        return super().formfield_for_manytomany(db_field, request, **kwargs, widget=forms.CheckboxSelectMultiple)

    @admin.display(description=_("Permissions of this role"))
    def description(self, group: Group) -> str:
        return roles.describe_group(group.name)


for model, admin_class in ((User, AccountAdmin), (Group, RoleAdmin)):
    admin.site.unregister(model)
    admin.site.register(model, admin_class)
