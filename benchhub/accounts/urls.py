from django.urls import path

from . import views
from .second_factor import views as second_factor

urlpatterns = [
    path("login/", views.sign_in, name="login"),
    path("login/code", second_factor.sign_in_code, name="second-factor"),
    path("logout/", views.sign_out, name="logout"),
    path("account/", views.account, name="account"),
    path("account/password", views.PasswordChange.as_view(), name="password-change"),
    path("account/second-factor/add", second_factor.add, name="second-factor-add"),
    path("account/second-factor/recovery", second_factor.recovery, name="second-factor-recovery"),
    path("account/second-factor/remove", second_factor.remove, name="second-factor-remove"),
    path("account/tokens/add", views.token_add, name="token-add"),
    path("account/tokens/<int:pk>/revoke", views.token_revoke, name="token-revoke"),
    path("users/", views.users, name="users"),
    path("users/add", views.user_add, name="user-add"),
    path("users/<int:pk>/edit", views.user_edit, name="user-edit"),
    path("users/<int:pk>/second-factor/remove", second_factor.remove_of_user, name="user-second-factor-remove"),
    path("audit/", views.log, name="audit-log"),
]
