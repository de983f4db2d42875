from django.apps import AppConfig


class BenchConfig(AppConfig):
    name = "benchhub.bench"

    def ready(self) -> None:
        from benchhub import silence

        silence.listen()
