from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "benchhub.accounts"

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in

        from . import audit, middleware

        audit.listen()
        user_logged_in.connect(middleware.note_sign_in, dispatch_uid="idle")
