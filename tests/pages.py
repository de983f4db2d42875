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
