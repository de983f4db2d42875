"""What a reader of a link can get, for tests that search it."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Iterator

from django.test import Client

FILES = ("", "report", "data.json", "page.html", "report.html", "card.png")


def contents(address: str) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of each form of the page and of each file that it offers, archives unpacked."""
    client = Client()
    names = [*FILES]
    document = json.loads(client.get(f"{address}data.json").content)
    names += [f"{table['id']}.csv" for table in document["tables"]]
    for name in names:
        answer = client.get(address + name)
        assert answer.status_code == 200, name
        yield name, answer.content
        yield f"headers of {name}", str(answer.headers).encode()
    for bundle in document["bundles"]:
        packed = client.get(f"{address}{bundle['id']}.tar.gz").content
        yield bundle["id"], gzip.decompress(packed)
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            members = [(member.name, tar.extractfile(member)) for member in tar if member.isfile()]
            yield from ((name, file.read()) for name, file in members if file)
