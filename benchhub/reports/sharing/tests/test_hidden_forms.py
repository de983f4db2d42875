"""Three hundred forms of each hidden thing are planted, and every byte of every form of a shared page is searched."""

import base64
import html
import itertools
import json
import re
import unicodedata
import zlib
from decimal import Decimal
from urllib.parse import quote, unquote

import pytest
from django.test import Client

from benchhub.analysis.snapshot.projection import CLASSES
from benchhub.bench.models import Experiment, Found, Result, System
from benchhub.bench.testing import make_host
from benchhub.catalog.models import (
    Configuration,
    Hardware,
    Host,
    Instance,
    LicenceModel,
    PgBuild,
    PriceSheetDiscount,
    PriceSheetLine,
)
from benchhub.catalog.testing import make_sheet
from benchhub.reports.models import Comparison
from benchhub.reports.sharing import publish
from benchhub.reports.sharing.document.systems import KEPT_BACK
from benchhub.reports.sharing.output import pdf
from benchhub.reports.sharing.review import Review
from benchhub.reports.sharing.testing import contents
from runners.facts import storage

pytestmark = [pytest.mark.django_db, pytest.mark.filterwarnings("ignore:invalid escape sequence")]

AROUND = (
    "{}", "({})", "{}.", "{},", "'{}'", '"{}"', "x={}", "{}:5433", "http://{}/a", "mara@{}", "<{}>", "[{}]", "{}/24",
    "{};", "v {}", "{}!", "-h {}", "_{}_", "{}\u2026", "\u201e{}\u201c",
)  # fmt: skip
NAMES = {
    "host": ("zyzzyva.rack9.example.org", "zyzzyva"),
    "address": ("10.20.30.41", "fd00::beef:7"),
    "vendor": ("Acme Z9", "Per core of Initech", "Globexco", "XZ-9911-Q"),
    "account": ("svc_mara_bench",),
    "folder": ("/srv/kiln/pg18",),
    "discount": ("37.625% off", "discount of 41.375 per cent", "Vandelay partner rebate"),
}
# What must not be left of each: the part that gives it away.
NEEDLES = {
    "host": ("zyzzyva", "rack9", "example.org"),
    "address": ("20.30.41", "20-30-41", "beef"),
    "vendor": ("acme", "initech", "umbrella", "globex", "9911-q", "frobozz"),
    "discount": ("37.625", "37,625", "41.375", "41,375", "7,377", "vandelay"),
}
POOLER = {"kind": "PgBouncer", "address": "kilnpool.rack9.example.org", "port": 64329}
ACCOUNT, FOLDER, PORT, SECRET = "svc_mara_bench", "/srv/kiln/pg18", 54329, "PGPASSWORD=canary77"
# Numbers of the objects of a PDF file, and where they and their strokes lie: any port may stand there by chance.
PLACES = re.compile(
    rb"[0-9]{10} [0-9]{5} [nf]|\b[0-9]+ 0 (?:obj|R)\b|/(?:Length|Size|Prev|First|N) [0-9]+"
    rb"|startxref\s+[0-9]+|\A[0-9\s]+|(?:-?[0-9.]+\s){2,6}(?:cm|re|l|m|c|Tm|Td)\b"
)
DISCOUNTS = (
    "We got 37.625 % off.", "37,625% discount", "a discount of 37.625%", "Discount: 37.625 %", "rebate of EUR 7,377",
    "EUR 7,377 off", "$7,377 off list", "41.375 per cent below list", "discounted by 41.375 percent", "off by 37.625%",
    "price reduction of 41.375%", "37.625 pct rebate", "**37.625 %** off",
)  # fmt: skip
PORTS = (
    "postgresql://localhost:{}/bench", "localhost:{}", "*:{}", "/tmp/.s.PGSQL.{}", "listens on {}", "ports {}",
    "port no. {}", "Port number {}", "listening on {}", "-p{}", "tcp/{}", "port\n{}",
)  # fmt: skip
SECRET_SETTINGS = ("recovery_end_command", "primary_conninfo", "archive_command", "listen_addresses", "acme.token")
SECRETS = dict.fromkeys((*SECRET_SETTINGS, "work_mem"), SECRET)
OS_SETTINGS = {"vm.swappiness": "13", "kernel.domainname": "canaryos", "vm.canary": "1", "kernel.sem": "/canary"}
MOUNTS = f"""/dev/sda1 / ext4 rw 0 0
/dev/mapper/kilnvg-pg {FOLDER} xfs rw 0 0
filer7.canary.example:/vol/kiln /mnt/kiln_nfs nfs4 rw,addr=10.20.30.41 0 0
//CANARYFILER/share /mnt/smb cifs rw,username=canary 0 0
canarypool/pg /srv/tank-of-canary zfs rw 0 0
"""
# What the owner of a pooler may write into two of its settings: SQL, and so anything.
POOLING = {
    "version": "1.23.1", "pool_mode": "transaction", "pool_size": "20",
    "server_reset_query": f"SET app.key = '{SECRET}'", "server_check_query": f"SELECT '{FOLDER}'",
}  # fmt: skip
BUILT = f"'--prefix={FOLDER}/builds/canaryd19e57' '--with-llvm'"
GRANT = {"settings": {}, "settings_in_force": {}, "restart": ["sudo", "-n", "systemctl", "restart", "canary@kiln"]}
# What names some machine or person that no list knows; of each, a part is a needle.
PERSONAL = (
    "4c4c4544-0042-3510-8057-b7c044327777", "id i-0abcd443277ef5678", "serial: PF443277",
    "pod postgres-7d9c6b8f5-x2x4z on enx525400443277", "postgresql://orlafq:orlafqpw@a.example.net/db", "~orlafq/x",
    "orlafq+x@b\u00fccher.example", "/home/orlafq/x",
    "at 10.20.30.042, 0x0a.0x14.0x1e.0x2a, 012.024.036.052, 10.20.7721",
    "5254.0044.3277", "fe80::443:277%eth0", "db.443277.eu-west-1.rds.amazonaws.com",
)  # fmt: skip
MARK = f"zyzzyva:{FOLDER} changes settings of this server already."
SETTINGS = {"fsync": "off", **SECRETS}
NAMES_BEFORE = {"instance": "kiln-before", "server": "zyzzyva-before.rack9.example.org"}
DESCRIPTION = {
    "version": 1, **NAMES_BEFORE, "pooler": {"kind": "PgBouncer", "machine": "Box of canary 7", **POOLING},
    "settings": SETTINGS, "os_settings": OS_SETTINGS, "unheard_of": {"key": "canary66"},
}  # fmt: skip


def spellings(name):
    yield from (name, name.upper(), name.title(), name.swapcase())
    yield name.translate({ord(c): chr(ord(c) + 0xFEE0) for c in "abcdefghijklmnopqrstuvwxyz0123456789"})
    yield from (mark.join((name[:3], name[3:])) for mark in ("\u200b", "\u00ad", "\u2060", "\u200d", "\ufeff"))
    yield name[0] + "\u0301" + name[1:]
    yield "".join(f"&#{ord(character)};" for character in name)
    yield "".join(f"\\u{ord(character):04x}" for character in name)
    yield "".join(f"%{ord(character):02x}" for character in name)
    yield "".join(f"%25{ord(character):02x}" for character in name)
    yield "".join(f"&amp;#{ord(character):08}" + ";" for character in name)
    yield "".join(f"\\x{ord(character):02x}" for character in name)
    yield f"{name[:3]}<wbr>{name[3:]}"
    yield base64.b64encode(name.encode()).decode()
    yield base64.urlsafe_b64encode(f"host={name} port=1".encode()).decode()
    yield name.encode().hex()
    yield name.replace(".", "\u3002")
    yield name.replace(".", "\uff0e")


def planted(class_name):
    """Return at least 300 texts, each with one form of a name of the class."""
    forms = [
        shape.format(spelling)
        for name in NAMES[class_name]
        for shape, spelling in itertools.product(AROUND, spellings(name))
    ]
    assert len(set(forms)) >= 300
    return forms


@pytest.fixture
def description():
    """What was asked of the second system, as it was written down when that was planned."""
    return DESCRIPTION


@pytest.fixture
def pooler():
    """Return the pooler that all loads went through and the grant for their server, as parts of their specs."""
    return {"pooler": POOLER, "server_settings": GRANT}


@pytest.fixture
def systems(systems, description):
    """Two systems, of which the second was asked for settings that carry secrets."""
    first, second = systems
    System.objects.filter(pk=second.pk).delete()
    second.configuration = Configuration.objects.create(name="tuned", settings=SETTINGS, os_settings=OS_SETTINGS)
    second.pk, second.description = None, description
    second.instance.configuration = second.configuration
    second.instance.save()
    second.save(force_insert=True)
    return [first, second]


@pytest.fixture
def shared(comparison, publisher, systems):
    """A link that hides everything, of a comparison that names all of it wherever people may write."""
    forms = [form for class_name in NAMES for form in planted(class_name)]
    Host.objects.update(name="zyzzyva.rack9.example.org", address="10.20.30.41", username=ACCOUNT, port=PORT)
    make_host("okapi-node.attic.example", "okapi-address")
    Instance.objects.update(address="fd00::beef:7", username=ACCOUNT, data_directory=FOLDER, port=PORT)
    Instance.objects.update(pooler=POOLER["kind"], pooler_address=POOLER["address"], pooler_port=POOLER["port"])
    PgBuild.objects.update(configure_options=BUILT)
    LicenceModel.objects.create(name="Canary support", metric="none")
    sheet = make_sheet("Globexco offer", hardware=Hardware.objects.get(name="Acme Z9"), source="Globexco, 7 May")
    PriceSheetLine.objects.create(
        of_sheet=sheet,
        position=2,
        description="Frobozz rack tray",
        seller="Globexco",
        part_number="XZ-9911-Q",
        unit_price=Decimal(7377),
    )
    PriceSheetDiscount.objects.create(
        of_sheet=sheet, position=1, description="Vandelay partner rebate", percent=Decimal("41.375")
    )
    query = comparison.query.replace("discount=12.5", "discount=37.625")
    Comparison.objects.update(query=query)
    Result.objects.update(doubts=[{"code": "server-settings-left", "text": MARK}])
    Experiment.objects.update(name=f"On {forms[0]}", remark=" ".join(forms[:50]))
    for row in Found.objects.all():
        facts = {"kernel": f"6.1 on {FOLDER}", "filesystems": storage.filesystems(MOUNTS, "", "", {})}
        row.pooler = POOLING
        row.settings["wal_buffers"] = {"setting": "2048", "unit": SECRET, "source": "configuration file"}
        row.host = {"zyzzyva.rack9.example.org": facts}
        row.settings |= {
            name: {"setting": SECRET, "unit": None, "source": "configuration file"}
            for name in (*SECRETS, "data_directory")
        }
        row.save()
    Comparison.objects.update(
        title=f"16 or 18 on zyzzyva, {forms[700]}",
        remarks="\n\n".join(
            [
                *forms,
                *PERSONAL,
                "faster than OKAPI-Node, and than okapi-address:5432 or db.attic.example",
                f"as {ACCOUNT}",
                f"in {FOLDER}/base",
                "in /srv/tank-of-canary/x",
                f"port {PORT}",
                f"PGPORT={PORT}",
                *(shape.format(PORT) for shape in PORTS),
                *DISCOUNTS,
                "Frobozz rack tray, by the Vandelay partner rebate",
                f"by {POOLER['address']}:{POOLER['port']}, port {POOLER['port']}",
            ]
        ),
    )
    snapshot = publish.comparison_snapshot(Comparison.objects.get(), publisher)
    _, token = publish.link(snapshot, CLASSES, "", publisher, name="a reader")
    return f"/s/{token}/"


def texts_of(content):
    """Yield the content as text in each way that it could be read, unpacked as far as it goes."""
    yield content.decode("latin-1")
    text = content.decode(errors="ignore")
    for form in (text, html.unescape(text), unquote(text), html.unescape(html.unescape(text))):
        yield form
        yield form.encode().decode("unicode_escape", errors="ignore")


def plain(text):
    """Fold a text by other means than the code under test does."""
    folded = unicodedata.normalize("NFKD", text).replace("\u3002", ".").casefold()
    return folded.translate(dict.fromkeys(ord(c) for c in set(folded) if unicodedata.category(c) in ("Cf", "Mn")))


def left_in(content):
    needles = [
        *itertools.chain.from_iterable(NEEDLES.values()),
        ACCOUNT,
        "kiln",
        "443277",
        "okapi",
        "attic",
        "443:277",
        "0044.3277",
        "orlafq",
        "x2x4z",
        "20.7721",
        "036.052",
        "0x1e",
        str(PORT),
        str(POOLER["port"]),
        "canary",
    ]
    left = {needle for text in map(plain, texts_of(content)) for needle in needles if needle in text}
    encoded = [base64.b64encode(needle.encode()).rstrip(b"=")[:-1] for needle in needles if len(needle) > 6]
    return sorted(
        left
        | {code.decode() for code in encoded if code in content}
        | {q for q in map(quote, needles) if q.encode() in content}
    )


def test_no_byte_of_any_form_of_the_page_tells_what_the_link_hides(shared):
    left = {name: needles for name, content in contents(shared) if (needles := left_in(content))}
    assert left == {}


def test_file_systems_are_told_without_their_devices_options_and_own_folders(shared):
    [section] = [part for part in Client().get(f"{shared}data.json").json()["sections"] if part["id"] == "environment"]
    [table] = [block for block in section["blocks"] if block["kind"] == "table"]
    texts = [tuple(cell["text"] for cell in row["cells"]) for row in table["rows"]]
    assert [text[:2] for text in texts if text[0].startswith("filesystems")] == [
        ("filesystems /: type", "ext4"),
        ("filesystems other 1: type", "xfs"),
        ("filesystems other 2: type", "nfs4"),
        ("filesystems other 2: rests on", "network"),
        ("filesystems other 3: type", "cifs"),
        ("filesystems other 3: rests on", "network"),
        ("filesystems other 4: type", "zfs"),
        ("filesystems other 4: rests on", "a ZFS pool"),
    ]


def test_what_differs_is_told_without_secrets_and_with_what_they_stand_beside(shared):
    text = Client().get(f"{shared}systems.csv").content.decode()
    assert {"fsync,not set,off", "vm.swappiness,not set,13"} <= set(text.splitlines())
    assert not {*SECRETS, "kernel.domainname", "kernel.sem"} & {line.partition(",")[0] for line in text.splitlines()}
    [_, second] = Client().get(f"{shared}data.json").json()["bundles"]
    files = {file["name"]: file["text"] for file in second["files"]}
    assert json.loads(files["os-settings.json"]) == {"vm.swappiness": "13"}


@pytest.mark.parametrize("description", [{"version": 1, "settings": SECRETS}])
def test_systems_that_differ_in_secrets_alone_are_not_said_to_be_alike(comparison, publisher, description):
    document = json.loads(bytes(publish.comparison_snapshot(comparison, publisher).content))
    [section] = [section for section in document["sections"] if section["id"] == "differences"]
    assert [block["text"] for block in section["blocks"]] == [KEPT_BACK]


def test_the_oracle_sees_what_is_not_hidden(comparison, publisher, shared):
    snapshot = publish.comparison_snapshot(Comparison.objects.get(), publisher)
    _, token = publish.link(snapshot, (), "", publisher, name="all of it")
    assert {"zyzzyva", "20.30.41", "acme", ACCOUNT, str(PORT), "kiln", str(POOLER["port"])} <= set(
        left_in(Client().get(f"/s/{token}/").content)
    )


def test_the_review_marks_a_bare_number_that_is_a_port(shared, publisher):
    Comparison.objects.update(remarks=f"It ran with {PORT} and 54330.")
    snapshot = publish.comparison_snapshot(Comparison.objects.get(), publisher)
    marked = [part.text for text in Review(snapshot, CLASSES).texts for part in text.parts if part.why]
    assert str(PORT) in marked and "54330" not in marked


@pytest.mark.skipif(not pdf.is_available(), reason="no Chromium prints PDF here")
def test_the_pdf_with_its_title_and_streams_tells_nothing_either(shared):
    content = Client().get(f"{shared}page.pdf").content
    assert content.startswith(b"%PDF")
    assert left_in(PLACES.sub(b"", content)) == []
    for part in content.split(b"stream")[1:]:
        try:
            assert left_in(PLACES.sub(b"", zlib.decompress(part.lstrip(b"\r\n")))) == []
        except zlib.error:
            continue
