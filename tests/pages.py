"""The names of all pages in urls.py, for tests that hold a list against them."""

from collections.abc import Iterator

from django.urls import URLResolver, get_resolver


def names(resolver: URLResolver | None = None) -> Iterator[str]:
    """Without those of the API, which has a namespace: they are of what it answers in JSON."""
    for pattern in (resolver or get_resolver()).url_patterns:
        if isinstance(pattern, URLResolver):
            yield from names(pattern) if pattern.namespace is None else ()
        elif pattern.name:
            yield pattern.name


# A page is a line: its name, and for what it shows the name of a row that `rows` makes.
PAGES = {
    "home": None,
    "login": None,
    "experiments": None,
    "experiment-new": None,
    "presets": None,
    "design": "design",
    "design-cancel": "design",
    "experiment": "experiment",
    "experiment-cancel": "experiment",
    "run": "run",
    "run-cancel": "waiting",
    "run-set-aside": "run",
    "experiment-repeats": "experiment",
    "queue": None,
    "experiment-policy": "experiment",
    "experiment-tags": "experiment",
    "experiment-times": "experiment",
    "experiment-times-once": "experiment",
    "experiment-times-weekly": "experiment",
    "host-times": "host",
    "host-times-once": "host",
    "host-times-weekly": "host",
    "compare": None,
    "comparisons": None,
    "comparison": "comparison",
    "comparison-edit": "comparison",
    "snapshot": "snapshot",
    "snapshot-report": "snapshot",
    "snapshot-today": "snapshot",
    "link-new": "snapshot",
    "link-revoke": "link",
    "published": None,
    "hosts": None,
    "host-add": None,
    "host": "host",
    "host-edit": "host",
    "host-delete": "idle host",
    "instances": None,
    "instance-add": None,
    "instance-edit": "instance",
    "instance-retire": "instance",
    "instance-delete": "idle instance",
    "hardware-list": None,
    "hardware-add": None,
    "hardware-revise": "hardware",
    "hardware-retire": "hardware",
    "prices": None,
    "price-add": None,
    "price-sheets": None,
    "price-sheet": "sheet",
    "price-sheet-add": None,
    "price-sheet-revise": "sheet",
    "price-sheet-retire": "sheet",
    "exchange-rates": None,
    "exchange-rate-add": None,
    "licence-models": None,
    "licence-model-add": None,
    "licence-model-revise": "licence",
    "licence-model-retire": "licence",
    "configurations": None,
    "configuration-add": None,
    "configuration-revise": "configuration",
    "configuration-retire": "idle configuration",
    "workloads": None,
    "workload": "workload",
    "workload-add": None,
    "workload-revise": "workload",
    "workload-retire": "workload",
    "account": None,
    "password-change": None,
    "token-add": None,
    "users": None,
    "user-add": None,
    "user-edit": "colleague",
    "audit-log": None,
    "webhooks": None,
    "webhook-add": None,
    "webhook": "webhook",
    "webhook-edit": "webhook",
    "webhook-delete": "webhook",
}
