"""Accounts and groups in the admin: Django's classes, with invitations and a description of each role."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, ClassVar

from django import forms
from django.apps import apps
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.db.models import Field, ManyToManyField
from django.forms.models import ModelChoiceIterator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.translation import get_language, gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from cms.accounts import invitations, people, roles
from cms.accounts.forms import AccountForm, InvitationForm
from nodes import links


class RolesField(forms.ModelMultipleChoiceField):
    """A form field for choosing groups, with a description of what each group's members can do."""

    def label_from_instance(self, group: Group) -> str:
        description = roles.describe_group(group.name)
        return f"{group.name}: {description}" if description else group.name


class PermissionIterator(ModelChoiceIterator):
    """Permissions grouped by app."""

    def __iter__(self) -> Iterator[Any]:
        for app_label, permissions in groupby(self.queryset, lambda permission: permission.content_type.app_label):
            # A removed app leaves its permissions in the database.
            app = apps.app_configs.get(app_label)
            yield app.verbose_name if app else app_label, [self.choice(permission) for permission in permissions]


class PermissionsField(forms.ModelMultipleChoiceField):
    """A form field for choosing permissions, grouped by app."""

    iterator = PermissionIterator

    def label_from_instance(self, permission: Permission) -> str:
        return permission.name


class AccountAdmin(UserAdmin):
    """The admin pages for accounts. Accounts are added by inviting people."""

    form = AccountForm
    add_form = InvitationForm
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
    add_fieldsets = ((None, {"fields": ("email", "first_name", "groups")}),)
    # Labels and help texts that use the site's terms instead of Django's.
    field_options: ClassVar[dict[str, Any]] = {
        "first_name": {
            "label": _("Name"),
            "help_text": _("Readers see this name with posts and comments."),
        },
        "last_name": {"help_text": _("Leave this empty if the name above is complete.")},
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

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(require_POST(self.send_link_again))
        return [path("<id>/invitation/", view, name="auth_user_invitation"), *super().get_urls()]

    @admin.display(description=_("Password"))
    def password_link(self, user: User) -> str:
        """Return a link to the page for changing the password, or a button for inviting a person again.

        Unlike Django's field, the link doesn't show the hash algorithm.
        """
        if invitations.is_invited(user):
            return format_html(
                # The button belongs to another form. Otherwise, Enter in any field would press it.
                '{} <button class="button" form="invitation">{}</button>',
                gettext("Invited, not accepted yet"),
                gettext("Send the link again") if invitations.can_email() else gettext("Create a new link"),
            )
        return format_html(
            '<a href="{}">{}</a>', reverse("admin:auth_user_password_change", args=[user.pk]), _("Change password")
        )

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_change_permission(request, obj) and _can_manage(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_delete_permission(request, obj) and _can_manage(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        """Allow only superusers to give permissions that aren't part of a role."""
        more = () if request.user.is_superuser else ("is_superuser", "user_permissions")
        return (*super().get_readonly_fields(request, obj), *more)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the list of people."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        shared = {**self.admin_site.each_context(request), "opts": self.opts, **(extra_context or {})}
        return people.people_list(request, {**shared, "has_add_permission": self.has_add_permission(request)})

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Propose the role that most invited people get."""
        return {"groups": Group.objects.filter(name=roles.PROPOSED), **super().get_changeform_initial_data(request)}

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None) -> Any:
        """Invite a person."""
        context = {"title": _("Invite a person"), "can_email": invitations.can_email(), **(extra_context or {})}
        try:
            return super().add_view(request, form_url, context)
        except IntegrityError:  # a second press of the button, or another administrator, was faster
            messages.error(request, gettext("This person has just been invited."))
            return HttpResponseRedirect(reverse("admin:auth_user_changelist"))

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: User | None = None, **kwargs: Any
    ) -> Any:
        """Show the form, with the person's name as the title."""
        if obj:
            context |= {"title": obj.get_full_name() or obj.username, "subtitle": None}
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    def response_add(self, request: HttpRequest, obj: User, post_url_continue: str | None = None) -> HttpResponse:
        """Send the invitation, and return to the list."""
        _send_link(request, obj)
        return HttpResponseRedirect(reverse("admin:auth_user_changelist"))

    def send_link_again(self, request: HttpRequest, id: str) -> HttpResponse:
        """Send a person a new link, which replaces the earlier ones."""
        user = self.get_object(request, id)
        if not self.has_add_permission(request) or not self.has_change_permission(request, user):
            raise PermissionDenied
        if user is None:
            raise Http404
        if invitations.is_invited(user) and invitations.renew(user):
            self.log_change(request, user, [{"changed": {"fields": ["invitation"]}}])
            _send_link(request, user)
        else:
            messages.error(request, gettext("This account is inactive, or the invitation has already been accepted."))
        return HttpResponseRedirect(reverse("admin:auth_user_change", args=[user.pk]))

    def formfield_for_dbfield(self, db_field: Field, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs, **self.field_options.get(db_field.name, {}))
        if db_field.name == "groups":
            field.widget.can_add_related = False  # roles have their own pages
        return field

    def formfield_for_manytomany(self, db_field: ManyToManyField, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "groups":
            kwargs |= {"form_class": RolesField, "queryset": roles.assignable(request.user)}
        else:
            kwargs |= {"form_class": PermissionsField, "queryset": roles.grantable(request.user)}
        kwargs["widget"] = forms.CheckboxSelectMultiple
        return super().formfield_for_manytomany(db_field, request, **kwargs)


def _can_manage(request: HttpRequest, account: User | None) -> bool:
    return account is None or roles.can_manage(request.user, account)


def _can_manage_role(request: HttpRequest, group: Group | None) -> bool:
    return group is None or roles.can_manage_role(request.user, group)


def _send_link(request: HttpRequest, user: User) -> None:
    """Queue the email with the link, or show the link to the administrator if the site has no email server."""
    origin, days = links.origin(request), invitations.valid_days()
    if invitations.can_email():
        invitations.send_invitation.enqueue(user_id=str(user.pk), origin=origin, language=get_language() or "")
        text = ngettext(
            "The invitation to %(email)s is being sent. Its link works once, for %(days)d day.",
            "The invitation to %(email)s is being sent. Its link works once, for %(days)d days.",
            days,
        )
        messages.success(request, text % {"email": user.email, "days": days})
        return
    text = ngettext(
        "No email was sent, because this site has no email server. Send %(email)s this link yourself. "
        "It works once, for %(days)d day, and isn't shown again.",
        "No email was sent, because this site has no email server. Send %(email)s this link yourself. "
        "It works once, for %(days)d days, and isn't shown again.",
        days,
    )
    link = invitations.link(user, origin)
    messages.warning(request, format_html("{} <code>{}</code>", text % {"email": user.email, "days": days}, link))


class RoleAdmin(GroupAdmin):
    """The admin pages for roles, which are Django's groups."""

    filter_horizontal = ()

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the list of roles."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": gettext("Roles"),
            "roles": roles.list_roles(),
            "has_add_permission": self.has_add_permission(request),
            **(extra_context or {}),
        }
        return render(request, "admin/auth/group/change_list.html", context)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Group | None = None, **kwargs: Any
    ) -> Any:
        """Show the form, with the role's name as the title."""
        context |= {"title": obj.name if obj else gettext("Add role"), "subtitle": None}
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return super().has_change_permission(request, obj) and _can_manage_role(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return super().has_delete_permission(request, obj) and _can_manage_role(request, obj)

    def formfield_for_manytomany(self, db_field: ManyToManyField, request: HttpRequest, **kwargs: Any) -> Any:
        # Replace Django's two list boxes, because screen readers can't find their labels.
        kwargs |= {"widget": forms.CheckboxSelectMultiple, "form_class": PermissionsField}
        kwargs["queryset"] = roles.grantable(request.user)
        return super().formfield_for_manytomany(db_field, request, **kwargs)


for model, admin_class in ((User, AccountAdmin), (Group, RoleAdmin)):
    admin.site.unregister(model)
    admin.site.register(model, admin_class)
