from django.contrib.auth import views as auth
from django.urls import path

from . import views

urlpatterns = [
    path("login/", views.sign_in, name="login"),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("account/", views.account, name="account"),
    path("account/password", views.PasswordChange.as_view(), name="password-change"),
    path("account/tokens/add", views.token_add, name="token-add"),
    path("account/tokens/<int:pk>/revoke", views.token_revoke, name="token-revoke"),
    path("users/", views.users, name="users"),
    path("users/add", views.user_add, name="user-add"),
    path("users/<int:pk>/edit", views.user_edit, name="user-edit"),
    path("audit/", views.log, name="audit-log"),
]
