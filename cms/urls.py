from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path

from cms.accounts.views import LogIn, PasswordReset
from cms.middleware import HEALTH
from cms.requests.metrics import scraping

# Under the names that the admin looks for: its log-in page then offers "Forgotten your password?".
password_reset = [
    path("", PasswordReset.as_view(), name="admin_password_reset"),
    path("done/", auth.PasswordResetDoneView.as_view(), name="password_reset_done"),
    path("<uidb64>/<token>/", auth.PasswordResetConfirmView.as_view(), name="password_reset_confirm"),
    path("complete/", auth.PasswordResetCompleteView.as_view(), name="password_reset_complete"),
]

urlpatterns = [
    *(path(name, view, name=name) for name, view in HEALTH.items()),
    # Answered before any route to who may read it; no page can have this address either.
    path(scraping.PATH, scraping.hidden, name="metrics"),
    path("admin/password-reset/", include(password_reset)),
    path("admin/", admin.site.urls),
    # For readers with an account: the admin's log-in takes staff only.
    path("log-in", LogIn.as_view(), name="login"),
    path("log-out", auth.LogoutView.as_view(), name="logout"),
    path("comments/", include("marginalia.comments.urls")),
    path("api/", include("api.urls")),
    path("", include("reader.urls")),
]

handler400 = "cms.requests.errors.bad_request"
handler500 = "cms.requests.errors.server_error"
handler404 = "wordpress.views.not_found"
