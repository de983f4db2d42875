import tomllib
from datetime import date
from decimal import Decimal

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils import timezone

from benchhub.catalog.models import Configuration, ExchangeRate, Hardware, LicenceModel, ListPrice, PriceSheet, Workload
from benchhub.catalog.shared.fixtures_loader import FixtureError, load

pytestmark = pytest.mark.django_db
SHIPPED = settings.BASE_DIR / "fixtures"
HARDWARE = '[[hardware]]\nname = "Box"\nsockets = 1\ncores_per_socket = 8\n'
SHEET = (
    "[[price_sheet]]\nname = 's'\ncurrency = 'EUR'\npriced_on = 2026-01-01\nsource = 'invented'\n"
    "[[price_sheet.line]]\ndescription = 'Server'\nunit_price = 5\n"
)
PRICE = (
    '[[list_price]]\nhardware = "Box"\ndescription = "Box"\namount = 10.50\ncurrency = "EUR"\n'
    'priced_on = 2026-01-01\nsource = "invented"\n'
)


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="one.toml"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path

    return write_file


def test_the_shipped_fixtures_hold_the_prices_of_report_a_and_the_demonstration():
    load(SHIPPED)
    prices = {price.description: price for price in ListPrice.objects.all()}
    assert prices["IBM Power S822L with 3 years of maintenance"].amount == Decimal("38364")
    assert prices["x86 Xeon, 4 sockets, with 3 years of maintenance"].amount == Decimal("61179")
    assert prices["PostgresPURE, one socket, one year"].amount == Decimal("4200")
    assert prices["Postgres Plus Advanced Server, one core, one year"].amount == Decimal("1800")
    assert all("section 8" in price.source for price in prices.values() if price.priced_on == date(2015, 11, 12))
    assert "Invented" in prices["Demonstration machine"].source
    assert Hardware.objects.get(name="IBM Power S822L").cores == 20
    assert Hardware.objects.get(name="x86 Xeon, 4 sockets").cores == 60
    assert dict(LicenceModel.objects.values_list("name", "metric")) == {
        "Hardware only": "none",
        "PostgresPURE, per socket": "socket",
        "Postgres Plus Advanced Server, per core": "core",
    }


def test_a_fresh_warehouse_has_the_eight_settings_of_report_a_as_printed():
    call_command("prepare")
    printed = tomllib.loads((SHIPPED / "published/report-a.toml").read_text(encoding="utf-8"))
    section = next(facts for facts in printed["facts"] if facts["group"] == "Server settings")
    settings_of_a = Configuration.objects.current().get(name="Report A: PostgresPURE on S822L").settings
    assert settings_of_a == section["values"]
    assert len(settings_of_a) == 8


def test_the_shipped_sheets_of_report_d_come_to_its_totals(django_assert_num_queries):
    load(SHIPPED)
    with django_assert_num_queries(3):
        totals = {sheet.name: sheet.priced() for sheet in PriceSheet.objects.with_rows()}
    assert {name: (priced.total, priced.sheet.currency) for name, priced in totals.items()} == {
        "solidDB hybrid on x3690 X5": (Decimal(415_482), "USD"),
        "solidDB in-memory on x3690 X5 with MAX5": (Decimal(435_124), "USD"),
    }
    assert all(priced.by_kind["licence"] == 224_000 and not priced.flags for priced in totals.values())
    memory = PriceSheet.objects.get(name__contains="MAX5").hardware.memory_bytes
    assert memory == 512 * 2**30


def test_what_report_a_bought_is_apart_from_what_its_virtual_machine_showed():
    load(SHIPPED)
    machine = Hardware.objects.get(name="IBM Power S822L").machine()
    assert (machine.sockets, machine.vcpus, machine.processor) == (2, 160, "POWER8")


def test_rules_of_a_licence_are_kept_as_the_engine_writes_them(write):
    rules = "[licence_model.rules]\npack = 2\nsupport_percent = 22.50\npayment = 'perpetual'\n"
    load(write("[[licence_model]]\nname = 'l'\nmetric = 'core'\n" + rules))
    model = LicenceModel.objects.get()
    assert model.rules == {"version": 1, "pack": 2, "support_percent": "22.5", "payment": "perpetual"}
    assert model.licence_rules().support_percent == Decimal("22.5")


def test_an_exchange_rate_is_recognised_by_its_currencies_day_and_source(write):
    rate = "[[exchange_rate]]\nbase = 'EUR'\nquoted = 'USD'\npriced_on = 2026-01-01\nsource = 's'\nvalue = 1.25\n"
    assert load(write(rate))["exchange_rate"] == 1
    assert load(write(rate))["exchange_rate"] == 0
    assert str(ExchangeRate.objects.get()) == "1 EUR = 1.25 USD (2026-01-01)"


def test_the_shipped_demonstration_is_durable_and_its_workload_is_small():
    load(SHIPPED)
    assert Workload.objects.get(name="pgbench select-only, scale 10").parameters == {
        "script": "select-only",
        "query_mode": "simple",
        "scale": 10,
    }
    settings_asked = Configuration.objects.get(name="Demonstration defaults").settings
    assert (settings_asked["fsync"], settings_asked["full_page_writes"]) == ("on", "on")


def test_published_reports_beside_the_fixtures_are_no_part_of_the_catalogue():
    published = [tomllib.loads(path.read_text()) for path in (SHIPPED / "published").glob("*.toml")]
    assert published
    load(SHIPPED)
    systems = {row["name"] for document in published for row in document.get("system", ())}
    assert not Hardware.objects.filter(name__in=systems).exists()
    assert not LicenceModel.objects.filter(name__in=systems).exists()


def test_a_second_load_creates_nothing():
    assert sum(load(SHIPPED).values()) > 0
    assert sum(load(SHIPPED).values()) == 0


def test_an_edit_survives_the_next_load_and_its_older_revision_stays_retired(write):
    folder = write(HARDWARE)
    load(folder)
    Hardware.objects.get().revise(cores_per_socket=16)
    load(folder)
    assert list(Hardware.objects.current().values_list("cores_per_socket", flat=True)) == [16]
    assert Hardware.objects.count() == 2


def test_what_was_retired_is_not_resurrected(write):
    folder = write(HARDWARE)
    load(folder)
    Hardware.objects.update(retired_at=timezone.now())
    load(folder)
    assert not Hardware.objects.current().exists()


def test_a_price_may_name_hardware_of_another_file_and_is_exact(write):
    write(PRICE, "a.toml")
    load(write(HARDWARE, "b.toml"))
    assert ListPrice.objects.get().amount == Decimal("10.5")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[hardware]\n", "one.toml cannot be read: "),
        ("[[machine]]\nname = 'x'\n", r"one.toml: write one of \[\[hardware\]\].*, not 'machine'"),
        (HARDWARE + "colour = 1\n", "one.toml, hardware 1 'Box': 'colour' is unknown; use "),
        (HARDWARE + "revision = 2\n", "'revision' is unknown"),
        ("[[hardware]]\nsockets = 1\n", "one.toml, hardware 1: 'name' is missing"),
        (
            "[[hardware]]\nname = 'Box'\nsockets = 1\n",
            "hardware 1 'Box': 'cores_per_socket': This field cannot be",
        ),
        ("[[hardware]]\nname = 'Box'\nsockets = 0\ncores_per_socket = 1\n", "'sockets': .* greater than or equal to 1"),
        (HARDWARE + HARDWARE, "one.toml, hardware 2 'Box': it is already in one.toml, hardware 1 'Box'"),
        (PRICE, "list_price 1 'Box': there is no hardware named 'Box'"),
        (HARDWARE + PRICE.replace("EUR", "euro"), "list_price 1 'Box': 'currency': "),
        (HARDWARE + PRICE.replace("10.50", "-1"), "list_price 1 'Box': .*list_price_not_negative"),
        (
            "[[workload]]\nname = 'w'\ntool = 'pgbench'\nparameters = { rate = 1.5 }\n",
            "workload 1 'w': parameters and settings may hold text, whole numbers",
        ),
        (SHEET + "colour = 1\n", "price_sheet 1 's', line 1 'Server': 'colour' is unknown; use "),
        (SHEET + "quantity = -1\n", "line 1 'Server': .*price_sheet_line_quantity"),
        (SHEET.replace("unit_price = 5\n", ""), "line 1 'Server': 'unit_price': This field cannot be"),
        (SHEET + "discount_percent = 5\ncontracted_price = 1\n", "price_sheet 1 's': 'Server' has either"),
        (SHEET + "[[price_sheet.discount]]\ndescription = 'd'\n", "discount 1 .d.: .*price_sheet_discount_of_one_kind"),
        (SHEET.replace("name = 's'", "name = 's'\nhardware = 'Box'"), "price_sheet 1 's': there is no hardware"),
        ("[[licence_model]]\nname = 'l'\nmetric = 'core'\nrules = { pack = 0 }\n", "'l': pack: Write a whole number"),
        ("", "There are no fixtures in "),
    ],
)
def test_a_mistake_is_one_sentence_with_file_and_entry_and_nothing_is_created(write, text, sentence):
    folder = write(text)
    with pytest.raises(FixtureError, match=sentence):
        load(folder)
    assert not Hardware.objects.exists()
    assert not PriceSheet.objects.exists()


def test_the_command_says_what_it_created_and_then_that_nothing_is_new(write, capsys):
    folder = write(HARDWARE + PRICE)
    call_command("load_fixtures", folder)
    call_command("load_fixtures", folder)
    assert capsys.readouterr().out == "Created 1 hardware, 1 list price.\nNothing new in the fixtures.\n"


def test_the_command_tells_a_mistake_without_a_traceback(write):
    with pytest.raises(CommandError, match="'colour' is unknown"):
        call_command("load_fixtures", write(HARDWARE + "colour = 1\n"))
