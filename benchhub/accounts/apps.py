from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "benchhub.accounts"

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in

        from . import audit, middleware, throttle
        from .second_factor import required

        required.least_role()  # a rule that is none ends the start
        audit.listen()
        throttle.listen()
        user_logged_in.connect(middleware.note_sign_in, dispatch_uid="idle")
