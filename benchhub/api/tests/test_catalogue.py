from decimal import Decimal

import pytest
from django.core.management import call_command

from benchhub.api.conftest import pointers
from benchhub.bench import testing
from benchhub.catalog.hardware.testing import make_price
from benchhub.catalog.models import (
    Configuration,
    Hardware,
    Host,
    Instance,
    LicenceModel,
    ListPrice,
    PriceSheet,
    Workload,
)

pytestmark = pytest.mark.django_db
HARDWARE = {"name": "Big", "sockets": 2, "cores_per_socket": 16, "memory_gib": "256"}


def test_hardware_is_added_by_the_form_of_its_page(admin):
    answer = admin.send("post", "hardware/", HARDWARE)
    row = Hardware.objects.get(name="Big")
    assert (answer.status_code, answer["Location"]) == (201, f"http://testserver/api/v1/hardware/{row.pk}/")
    assert answer.json()["memory_bytes"] == 256 * 2**30
    assert row.threads_per_core == 1


def test_what_the_form_refuses_is_said_with_field_and_remedy(admin, hardware):
    answer = admin.send("post", "hardware/", {**HARDWARE, "sockets": 0})
    problem = answer.json()
    assert (answer.status_code, problem["status"], problem["type"]) == (422, 422, "/api/v1/problems/invalid")
    assert pointers(answer) == ["/sockets"]
    again = admin.send("post", "hardware/", {**HARDWARE, "name": "Box"})
    assert "choose another name, or revise that one" in again.json()["errors"][0]["detail"]
    assert problem["remedy"] and problem["instance"] == "/api/v1/hardware/"
    assert Hardware.objects.count() == 1


def test_a_field_that_is_not_known_is_refused(admin):
    answer = admin.send("post", "hardware/", {**HARDWARE, "memory": 3})
    assert pointers(answer) == ["/memory"]
    assert not Hardware.objects.exists()


def test_a_change_is_a_revision_that_keeps_what_was_not_sent(admin, hardware):
    answer = admin.send("post", f"hardware/{hardware.pk}/revise/", {"cores_per_socket": 12})
    new = answer.json()
    assert (answer.status_code, new["revision"], new["cores_per_socket"], new["sockets"]) == (201, 2, 12, 2)
    hardware.refresh_from_db()
    assert hardware.retired_at is not None and hardware.cores_per_socket == 10
    assert admin.send("post", f"hardware/{hardware.pk}/revise/", {"sockets": 1}).status_code == 422


def test_a_name_cannot_be_changed_by_a_revision(admin, hardware):
    answer = admin.send("post", f"hardware/{hardware.pk}/revise/", {"name": "Other"})
    assert pointers(answer) == ["/name"]


def test_a_configuration_takes_its_settings_as_a_mapping(admin):
    sent = {"name": "fast", "settings": {"shared_buffers": "8GB", "search_path": "a, 'b'"}}
    answer = admin.send("post", "configurations/", sent)
    assert answer.status_code == 201
    assert Configuration.objects.get().settings == sent["settings"]
    revised = admin.send("post", f"configurations/{answer.json()['id']}/revise/", {"remark": "x"})
    assert revised.json()["settings"] == sent["settings"]


def test_a_workload_is_checked_by_its_load_generator(admin):
    sent = {"name": "reads", "kind": "pgbench", "script": "select-only", "query_mode": "prepared", "scale": 10}
    assert admin.send("post", "workloads/", sent).status_code == 201
    assert Workload.objects.get().parameters == {"script": "select-only", "query_mode": "prepared", "scale": 10}
    for kind in ("ab", "hammerdb", 5, ["pgbench"], None):
        # Fields of a kind that there is not are no faults of their own.
        refused = admin.send("post", "workloads/", {"name": "b", "kind": kind, "warehouses": 10})
        assert pointers(refused) == ["/kind"]
        assert "choose one of pgbench, scripts, tatp and sysbench." in refused.json()["errors"][0]["detail"]
    assert pointers(admin.send("post", "workloads/", {**sent, "name": "b", "subscribers": 9})) == ["/subscribers"]
    wider = admin.send("post", f"workloads/{Workload.objects.get().pk}/revise/", {"scale": 20})
    assert (wider.status_code, wider.json()["parameters"]["scale"]) == (201, 20)


def test_custom_scripts_take_a_right_of_their_own_and_come_as_a_list(admin):
    scripts = [{"text": "SELECT 1;", "weight": 3}, *({"text": f"SELECT {n};"} for n in range(2, 8))]
    sent = {"kind": "scripts", "name": "mine", "query_mode": "simple", "scripts": scripts}
    assert admin.send("post", "workloads/", sent).status_code == 403
    call_command("write_scripts", "ada")
    answer = admin.send("post", "workloads/", sent)
    assert answer.status_code == 201, answer.content
    stored = Workload.objects.get().parameters["scripts"]
    assert [(script["text"], script["weight"]) for script in stored[:2]] == [("SELECT 1;", 3), ("SELECT 2;", 1)]
    assert len(stored) == 7
    assert answer.json()["scripts_digest"] == Workload.objects.get().scripts_digest
    same = admin.send("post", f"workloads/{answer.json()['id']}/revise/", {"scripts": scripts})
    assert (same.status_code, same.json(), Workload.objects.count()) == (200, answer.json(), 1)
    fewer = admin.send("post", f"workloads/{answer.json()['id']}/revise/", {"scripts": scripts[:1]})
    assert [script["text"] for script in fewer.json()["parameters"]["scripts"]] == ["SELECT 1;"]


def test_a_fault_of_a_script_is_told_at_its_place_in_the_list(admin):
    call_command("write_scripts", "ada")
    sent = {"kind": "scripts", "name": "mine"}

    def faults(*texts):
        scripts = {"scripts": [{"text": text} for text in texts]} if texts else {}
        answer = admin.send("post", "workloads/", {**sent, **scripts})
        assert answer.status_code == 422, answer.content
        return [(error["pointer"], error["detail"]) for error in answer.json()["errors"]]

    [(at, sentence)] = faults("SELECT 1;", "-- nothing")
    assert at == "/scripts/1/text" and sentence.startswith("Script 2 has comments only")
    assert faults("SELECT 1;", "-" * 100_001) == [
        ("/scripts/1/text", "A script has 100,000 characters at most: shorten it."),
    ]  # fmt: skip
    assert [at for at, _ in faults()] == ["/scripts"]
    assert not Workload.objects.exists()


def test_a_workload_of_another_load_generator_has_fields_of_its_own(admin):
    answer = admin.send("post", "workloads/", {"kind": "tatp", "name": "phones", "subscribers": 1000})
    assert (answer.status_code, answer.json()["tool"]) == (201, "tatp"), answer.content


def test_a_script_of_sysbench_is_none_of_pgbench_and_each_kind_takes_its_own(admin):
    sent = {"kind": "sysbench", "name": "sb", "script": "oltp_point_select", "tables": 1, "table_size": 1000}
    answer = admin.send("post", "workloads/", {**sent, "rand_type": "special"})
    assert (answer.status_code, answer.json()["parameters"]["script"]) == (201, "oltp_point_select"), answer.content
    revised = admin.send("post", f"workloads/{answer.json()['id']}/revise/", {"script": "oltp_read_write"})
    assert (revised.status_code, revised.json()["parameters"]["script"]) == (201, "oltp_read_write"), revised.content
    assert pointers(admin.send("post", "workloads/", {**sent, "name": "b", "script": "select-only"})) == ["/script"]
    assert pointers(admin.send("post", "workloads/", {"name": "b", "script": "oltp_read_write"})) == ["/script"]
    assert Workload.objects.count() == 2


def test_a_retired_row_is_shown_again_and_one_in_use_is_not_retired(admin, host, hardware):
    Host.objects.update(hardware=hardware)
    refused = admin.send("post", f"hardware/{hardware.pk}/retire/")
    assert refused.status_code == 409 and "box" in refused.json()["detail"]
    Host.objects.update(hardware=None)
    assert admin.send("post", f"hardware/{hardware.pk}/retire/").json()["retired_at"]
    assert admin.send("post", f"hardware/{hardware.pk}/show-again/").json()["retired_at"] is None


def test_a_licence_model_has_its_tables(admin):
    sent = {
        "name": "Cores", "metric": "core", "minimum_per_server": "4",
        "factors": [{"processor": "POWER8", "factor": "0.5"}],
    }  # fmt: skip
    answer = admin.send("post", "licence-models/", sent)
    assert answer.status_code == 201, answer.content
    rules = LicenceModel.objects.get().licence_rules()
    assert rules.minimum_per_server == 4 and str(rules.factors[0].factor) == "0.5"
    revised = admin.send("post", f"licence-models/{answer.json()['id']}/revise/", {"minimum_per_server": "8"})
    assert revised.status_code == 201, revised.content
    new = LicenceModel.objects.get(revision=2).licence_rules()
    assert new.minimum_per_server == 8 and len(new.factors) == 1


def test_a_fault_in_a_row_is_named_by_row_and_column(admin):
    sent = {"name": "Cores", "metric": "core", "factors": [{"processor": "A", "factor": 1}, {"processor": "B"}]}
    answer = admin.send("post", "licence-models/", sent)
    assert "/factors/1/factor" in pointers(answer)


def test_a_price_sheet_is_added_up_and_revised(admin, hardware):
    sent = {
        "name": "Offer", "hardware": hardware.pk, "priced_on": "2026-01-01", "source": "a list",
        "lines": [{"description": "Server", "quantity": 2, "unit_price": "1000.50"}],
    }  # fmt: skip
    answer = admin.send("post", "price-sheets/", sent)
    assert (answer.status_code, answer.json()["total"]) == (201, "2001.00"), answer.content
    pk = answer.json()["id"]
    revised = admin.send("post", f"price-sheets/{pk}/revise/", {"discounts": [{"description": "off", "percent": 10}]})
    assert revised.status_code == 201, revised.content
    assert revised.json()["total"] == "1800.90"  # 2,001.00 less 10%
    assert PriceSheet.objects.get(pk=pk).retired_at is not None


@pytest.mark.parametrize("number", ["1e999", "1e-300000000", "1e999999999999", "0e99999999"])
def test_a_number_of_few_characters_and_millions_of_digits_is_no_number(admin, number):
    sheet = {"currency": "EUR", "lines": [{"description": "Server", "unit_price": number, "quantity": "2"}]}
    assert pointers(admin.send("post", "price-sheets/preview/", sheet)) == ["/lines/0/unit_price"]
    assert "/latency_limit_ms" in pointers(admin.send("post", "experiments/plan/", {"latency_limit_ms": number}))


def test_a_price_is_added_and_money_stays_decimal(admin, hardware):
    sent = {
        "of": f"hardware:{hardware.pk}", "description": "Box", "amount": "12000.10", "currency": "eur",
        "priced_on": "2026-01-01", "source": "a quote",
    }  # fmt: skip
    answer = admin.send("post", "prices/", sent)
    assert (answer.status_code, answer.json()["amount"], answer.json()["currency"]) == (201, "12000.10", "EUR")
    assert admin.send("patch", f"prices/{answer.json()['id']}/", {"amount": "1"}).status_code == 405
    assert ListPrice.objects.get().hardware == hardware


def test_a_price_is_taken_back_once_and_stays_with_who_and_when(admin, hardware):
    address = f"prices/{make_price(hardware).pk}/take-back/"
    assert admin.send("post", address, {"scope": "import"}).status_code == 422  # it came alone
    assert ListPrice.objects.in_force().count() == 1
    answer = admin.send("post", address, {})
    assert (answer.status_code, answer.json()["taken_back_by"]) == (200, "ada")
    assert answer.json()["taken_back_at"]
    assert admin.send("post", address, {}).status_code == 409
    assert admin.send("get", "prices/?taken_back_at__isnull=true").json()["results"] == []


def test_a_host_is_added_looked_at_and_approved(admin):
    answer = admin.send("post", "hosts/", {"name": "new", "address": "192.0.2.3", "username": "bench"})
    assert (answer.status_code, answer.json()["wanted"], answer.json()["port"]) == (201, "key", 22), answer.content
    assert "private" not in answer.content.decode()
    pk = answer.json()["id"]
    Host.objects.filter(pk=pk).update(offered_host_key="ssh-ed25519 AAAA", trust="offered", wanted="")
    assert admin.send("post", f"hosts/{pk}/probe/").status_code == 409
    assert admin.send("post", f"hosts/{pk}/approve/", {"key": "ssh-ed25519 BBBB"}).status_code == 409
    assert admin.send("post", f"hosts/{pk}/approve/", {"key": "ssh-ed25519 AAAA"}).json()["trust"] == "pinned"
    accepted = admin.send("post", f"hosts/{pk}/probe/")
    assert (accepted.status_code, accepted["Location"]) == (202, f"http://testserver/api/v1/hosts/{pk}/")
    assert Host.objects.get(pk=pk).wanted == "facts"


def test_a_host_is_edited_only_as_it_was_seen(admin, host):
    tag = admin.send("get", f"hosts/{host.pk}/")["ETag"]
    assert admin.send("patch", f"hosts/{host.pk}/", {"name": "a"}, headers={"If-Match": tag}).status_code == 200
    late = admin.send("patch", f"hosts/{host.pk}/", {"name": "b"}, headers={"If-Match": tag})
    assert late.status_code == 412
    assert Host.objects.get().name == "a"


def test_a_host_that_results_need_is_not_deleted(admin, host, experiment):
    assert admin.send("delete", f"hosts/{host.pk}/").status_code == 409
    free = testing.make_host("free", "192.0.2.8")
    assert admin.send("delete", f"hosts/{free.pk}/").status_code == 204
    assert not Host.objects.filter(name="free").exists()


def test_an_instance_of_a_managed_server_is_added_and_its_password_is_never_shown(admin, systems):
    sent = {
        "name": "cloud", "server": "managed", "version": "16.4", "configuration": systems[0].configuration_id,
        "address": "db.example", "database": "bench", "username": "bench", "password": "hush-hush",
    }  # fmt: skip
    answer = admin.send("post", "instances/", sent)
    assert answer.status_code == 201, answer.content
    assert "hush" not in answer.content.decode()
    instance = Instance.objects.get(name="cloud")
    assert instance.password == "hush-hush"
    assert admin.send("patch", f"instances/{instance.pk}/", {"name": "cloudy"}).json()["name"] == "cloudy"
    assert Instance.objects.get(name="cloudy").password == "hush-hush"


@pytest.mark.parametrize("move", [{"address": "127.0.0.9"}, {"port": 25999}, {"username": "other"}])
def test_an_administrators_token_reads_no_stored_password_by_moving_the_instance(admin, systems, move):
    Instance.objects.update(password="hush-hush")
    instance = systems[0].instance
    answer = admin.send("patch", f"instances/{instance.pk}/", move)
    assert (answer.status_code, pointers(answer)) == (422, ["/password"])
    assert "hush" not in answer.content.decode()
    after = Instance.objects.get(pk=instance.pk)
    assert (after.address, after.port, after.username) == (instance.address, instance.port, instance.username)
    moved = admin.send("patch", f"instances/{instance.pk}/", {**move, "has_no_password": True})
    assert moved.status_code == 200, moved.content
    assert Instance.objects.get(pk=instance.pk).password == ""


def test_a_licence_is_tried_on_a_machine_before_it_is_saved(admin, hardware):
    sent = {"metric": "core", "trial": {"hardware": hardware.pk, "price": "100", "currency": "EUR", "years": 3}}
    tried = admin.send("post", "licence-models/preview/", sent).json()
    # 2 sockets of 10 cores are 20 licences: 20 x 100 a year x 3 years
    assert (tried["units"], tried["currency"], Decimal(tried["total"]), tried["refusal"]) == (20, "EUR", 6000, "")
    assert tried["steps"]
    wrong = admin.send("post", "licence-models/preview/", {**sent, "minimum_per_server": "many"})
    assert pointers(wrong) == ["/minimum_per_server"]
    assert pointers(admin.send("post", "licence-models/preview/", {"metric": "core", "trial": {"hardware": 999}})) == [
        "/trial/hardware"
    ]
    assert not LicenceModel.objects.exists()


def test_a_sheet_is_added_up_before_it_is_saved_and_taken_along_as_csv(admin, viewer):
    lines = [{"description": "Server", "unit_price": "1000", "quantity": "2"}]
    sheet = {"currency": "EUR", "lines": lines, "discounts": [{"description": "off", "percent": 10}]}
    tried = admin.send("post", "price-sheets/preview/", sheet).json()
    assert (tried["listed"], tried["discounts"], tried["total"]) == ("2000.00", "200.00", "1800.00")
    assert pointers(admin.send("post", "price-sheets/preview/", {"lines": []})) == [""]
    assert not PriceSheet.objects.exists()
    complete = {**sheet, "name": "Offer", "priced_on": "2026-01-31", "source": "A quote"}
    pk = admin.send("post", "price-sheets/", complete).json()["id"]
    text = viewer.send("get", f"price-sheets/{pk}/csv/")
    assert text["Content-Type"].startswith("text/csv") and b"Server" in text.content
