"""Accounts and groups in the admin: Django's own, with each role explained where it is given."""

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
    """Groups, each with what its members may do."""

    def label_from_instance(self, group: Group) -> str:
        explained = roles.explained(group.name)
        return f"{group.name}: {explained}" if explained else group.name


class AccountAdmin(CheckedLists, UserAdmin):
    filter_horizontal = ()
    readonly_fields = ("last_login", "date_joined", "password_link")
    fieldsets = (
        (None, {"fields": ("username", "password_link")}),
        (_("Personal info"), {"fields": ("first_name", "last_name", "email")}),
        (_("Roles"), {"fields": ("groups", "is_staff", "is_active", "is_superuser")}),
        # A site can do without: the roles hold what their members need.
        (_("Single permissions"), {"fields": ("user_permissions",), "classes": ("collapse",)}),
        (_("Important dates"), {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = (
        (None, {"fields": ("username", "email", "password1", "password2")}),
        (_("Roles"), {"fields": ("groups", "is_staff")}),
    )
    # In words of the site instead of Django's.
    words: ClassVar[dict[str, Any]] = {
        "groups": {"label": _("Roles"), "help_text": ""},
        "is_staff": {"label": _("May log in to the admin"), "help_text": _("Every role needs it.")},
        "is_active": {
            "label": _("Active"),
            "help_text": _("Without it the account cannot log in. Better than deleting it."),
        },
        "is_superuser": {"label": _("May do everything"), "help_text": _("Whatever its roles are.")},
    }

    @admin.display(description=_("Password"))
    def password_link(self, user: User) -> str:
        """Return the link to the page that sets it; Django would show how its hash is made."""
        return format_html(
            '<a href="{}">{}</a>', reverse("admin:auth_user_password_change", args=[user.pk]), _("Change password")
        )

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Let a new account log in to the admin: every role needs that."""
        return {"is_staff": True, **super().get_changeform_initial_data(request)}

    def formfield_for_dbfield(self, db_field: Field, request: HttpRequest, **kwargs: Any) -> Any:
        return super().formfield_for_dbfield(db_field, request, **kwargs, **self.words.get(db_field.name, {}))

    def formfield_for_manytomany(self, db_field: ManyToManyField, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "groups":
            kwargs["form_class"] = RolesField
        kwargs["widget"] = forms.CheckboxSelectMultiple
        return super().formfield_for_manytomany(db_field, request, **kwargs)


class RoleAdmin(CheckedLists, GroupAdmin):
    list_display = ("name", "explained")
    filter_horizontal = ()

    def formfield_for_manytomany(self, db_field: ManyToManyField, request: HttpRequest, **kwargs: Any) -> Any:
        # Django's two boxes have labels that a screen reader is not told.
        return super().formfield_for_manytomany(db_field, request, **kwargs, widget=forms.CheckboxSelectMultiple)

    @admin.display(description=_("What its members may do"))
    def explained(self, group: Group) -> str:
        return roles.explained(group.name)


for model, replacing in ((User, AccountAdmin), (Group, RoleAdmin)):
    admin.site.unregister(model)
    admin.site.register(model, replacing)
