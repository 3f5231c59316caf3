"""The site's root URL configuration."""

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path

from api.embed import views as embedded
from cms.accounts.views import AcceptInvitationView, LoginView, NameView, PasswordResetView
from cms.middleware import HEALTH_CHECKS
from cms.requests.metrics import scraping

# The admin's login page links to the password reset if there is a route with the name `admin_password_reset`.
password_reset = [
    path("", PasswordResetView.as_view(), name="admin_password_reset"),
    path("done/", auth.PasswordResetDoneView.as_view(), name="password_reset_done"),
    path("<uidb64>/<token>/", auth.PasswordResetConfirmView.as_view(), name="password_reset_confirm"),
    path("complete/", auth.PasswordResetCompleteView.as_view(), name="password_reset_complete"),
]

urlpatterns = [
    *(path(name, view, name=name) for name, view in HEALTH_CHECKS.items()),
    # MetricsMiddleware handles requests from permitted clients. This route ensures that no page can use this path.
    path(scraping.PATH, scraping.not_found, name="metrics"),
    path("admin/password-reset/", include(password_reset)),
    path("admin/invitation/<uidb64>/<token>/", AcceptInvitationView.as_view(), name="accept_invitation"),
    path("admin/name/", admin.site.admin_view(NameView.as_view()), name="account_name"),
    path("admin/", admin.site.urls),
    # The login page for readers who have an account, because the admin's login page accepts only staff.
    path("log-in", LoginView.as_view(), name="login"),
    path("log-out", auth.LogoutView.as_view(), name="logout"),
    path("comments/embedded", embedded.discussion, name="comments-embedded"),
    path("comments/", include("marginalia.comments.urls")),
    path("api/", include("api.urls")),
    path("", include("reader.urls")),
]

handler400 = "cms.requests.errors.bad_request"
handler500 = "cms.requests.errors.server_error"
handler404 = "wordpress.views.not_found"
