from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "benchhub.accounts"

    def ready(self) -> None:
        from . import audit

        audit.listen()
