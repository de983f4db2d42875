"""Telemetry of sysstat stands beside a run that BenchHub did not observe, says whence it is, and can be taken away."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import Delivery, Evidence, Found, Run, RunTelemetry, TelemetryImport
from benchhub.bench.results.telemetry import sysstat
from runners.telemetry.sysstat.answer import UnfitError

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    return make_user("ann", Role.RUNNER)


def make_run(driver=None):
    hardware = testing.make_box()
    system = testing.make_system("18", testing.make_host(), hardware)
    if driver:
        system.pk, system._state.adding, system.driver, system.digest = None, True, driver, testing.sha256("two")
        system.save()
    made = testing.make_run(testing.make_experiment([system]), system, 8, 1)
    testing.succeeded(made, 1000.0)
    testing.dated(made)
    return Run.objects.get(pk=made.pk)


@pytest.fixture
def run():
    return make_run()


def test_samples_become_telemetry_from_the_begin_of_the_load_and_the_file_is_evidence(run, user):
    content = testing.sysstat_json(-10, 60)
    row = sysstat.store(run, content, user)
    cpu = RunTelemetry.objects.get(run=run, metric="cpu_user")
    assert (cpu.unit, cpu.start_epoch_s, cpu.step_s) == ("%", testing.BEGIN.timestamp(), 1)
    assert cpu.values == [60.0 + second % 10 for second in range(30)]
    assert (row.sample_count, row.outside_count, row.doubts) == (60, 28, [])
    assert bytes(Evidence.objects.get(attempt__run=run, name__startswith="sysstat-").content) == content
    assert run.events.get(new_state="telemetry").reason == "By ann: from sysstat on box."


def test_another_file_takes_the_place_of_the_first_and_what_is_removed_stays_as_evidence(run, user):
    sysstat.store(run, testing.sysstat_json(), user)
    sysstat.store(run, testing.sysstat_json(0, 20), user)
    sysstat.store(run, testing.sysstat_json(0, 20), user)
    assert TelemetryImport.objects.get(run=run).sample_count == 20
    assert RunTelemetry.objects.get(run=run, metric="cpu_user").values[20:] == [None] * 10
    assert sysstat.remove(run, user)
    assert not run.telemetry.exists()
    assert not sysstat.remove(run, user)
    assert Evidence.objects.filter(attempt__run=run, name__startswith="sysstat-").count() == 2


def test_a_run_keeps_five_files_and_takes_any_of_them_again(run, user):
    for seconds in range(20, 25):
        sysstat.store(run, testing.sysstat_json(0, seconds), user)
    with pytest.raises(UnfitError, match="5 files of sysstat already"):
        sysstat.store(run, testing.sysstat_json(0, 30), user)
    assert TelemetryImport.objects.get(run=run).sample_count == 24
    sysstat.remove(run, user)
    assert sysstat.store(run, testing.sysstat_json(0, 20), user).sample_count == 20
    assert Evidence.objects.filter(attempt__run=run, name__startswith="sysstat-").count() == 5


def test_a_file_is_read_before_its_run_is_locked(run, user):
    with pytest.raises(UnfitError), CaptureQueriesContext(connection) as queries:
        sysstat.store(run, b"12:00:01 AM CPU %user", user)
    assert "FOR UPDATE" not in " ".join(query["sql"] for query in queries)


def test_a_begin_that_nobody_measured_is_a_doubt(run, user):
    run.series.update(start_epoch_s=0.0)
    delivery = Delivery.objects.create(by=user, run_count=1)
    Run.objects.filter(pk=run.pk).update(delivery=delivery, source="a log", started_at=testing.BEGIN)
    (doubt,) = sysstat.store(Run.objects.get(pk=run.pk), testing.sysstat_json(), user).doubts
    assert "begin at 2026-01-31 12:00:00 UTC" in doubt


def test_telemetry_of_benchhub_s_own_is_never_mixed_nor_removed(run, user):
    testing.observed(run)
    before = list(run.telemetry.values_list("pk", flat=True))
    with pytest.raises(UnfitError, match="observed this run itself"):
        sysstat.store(run, testing.sysstat_json(), user)
    assert not sysstat.remove(run, user)
    assert list(run.telemetry.values_list("pk", flat=True)) == before


def test_a_file_that_does_not_fit_changes_nothing(run, user):
    sysstat.store(run, testing.sysstat_json(), user)
    with pytest.raises(UnfitError, match="choose the file of that time"):
        sysstat.store(run, testing.sysstat_json(3600), user)
    assert run.telemetry.exists()
    assert Evidence.objects.filter(attempt__run=run, name__startswith="sysstat-").count() == 1


def test_a_file_of_another_machine_is_told_by_its_name_and_its_kernel(run, user):
    Found.objects.create(run=run, host={"box": {"kernel": "6.8.0"}}, facts_digest="x")
    run = Run.objects.get(pk=run.pk)
    assert sysstat.store(run, testing.sysstat_json(nodename="BOX.example.org", release="6.8.0"), user).doubts == []
    name, kernel = sysstat.store(run, testing.sysstat_json(nodename="db2"), user).doubts
    assert name == "sysstat ran on db2, and the run on box: see that this is the same machine."
    assert "6.1.0, and the run was on 6.8.0" in kernel


def test_telemetry_of_the_driver_s_machine_is_named_so_where_the_server_has_another(user):
    run = make_run(testing.make_host("driver", "192.0.2.9"))
    assert sysstat.store(run, testing.sysstat_json(nodename="driver"), user).doubts == []
    assert run.telemetry.filter(metric="driver:cpu_user").exists()
    sysstat.store(run, testing.sysstat_json(nodename="box"), user)
    assert run.telemetry.filter(metric="cpu_user").exists()
    assert not run.telemetry.filter(metric__startswith="driver:").exists()


def test_a_run_without_a_result_or_without_a_time_takes_none(run):
    run.series.update(start_epoch_s=0.0)
    assert sysstat.refusal(run) == sysstat.NO_TIME
    waiting = testing.make_run(run.experiment, run.system, 8, 2)
    assert sysstat.refusal(waiting) == sysstat.NO_RESULT


@pytest.mark.parametrize(
    ("planned_s", "transactions", "duration_s"),
    [(31, 30_000, 31), (60, 30_000, 30), (60, 60_000, 60)],  # 1,000 a second
)
def test_seconds_that_were_not_reported_count_where_the_transactions_took_them(
    run, planned_s, transactions, duration_s
):
    run.spec["duration_s"] = planned_s
    run.result.measures["transactions"]["value"] = transactions
    assert sysstat.load_of(run).duration_s == duration_s


def test_the_command_is_cut_to_the_load_unless_the_load_goes_over_midnight():
    begin = testing.BEGIN.timestamp()
    assert sysstat.command(sysstat.Load(begin, 60)) == "sadf -j -s 11:59:58 -e 12:01:02 sa31 -- -A > sysstat.json"
    assert sysstat.command(sysstat.Load(begin + 43_190, 60)) == "sadf -j sa31 -- -A > sysstat.json"
