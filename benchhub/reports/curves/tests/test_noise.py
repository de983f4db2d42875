"""The repeats from which the noise of a host is told."""

import pytest

from benchhub.bench import testing
from benchhub.catalog.models import Hardware
from benchhub.reports.curves import noise

pytestmark = pytest.mark.django_db


def test_the_newest_runs_of_each_system_tell_the_noise_of_its_host_and_older_ones_no_more(monkeypatch):
    monkeypatch.setattr(noise, "MOST_RUNS_OF_SYSTEM", 3)
    host, box = testing.make_host(), Hardware.objects.create(name="Box", sockets=1, cores_per_socket=8)
    elsewhere = testing.make_system("17", testing.make_host("far", "192.0.2.9"), box)
    systems = [testing.make_system(version, host, box) for version in ("16", "18")]
    protocols = set()
    for first in (100.0, 200.0):
        experiment = testing.make_experiment([*systems, elsewhere])
        for system in (*systems, elsewhere):
            for repeat in (1, 2):
                run = testing.make_run(experiment, system, 8, repeat)
                testing.succeeded(run, first + repeat)
                protocols.add(run.protocol_id)
    groups = noise.repeats([host.pk], protocols)
    assert list(groups) == [host.pk]
    assert groups[host.pk] == [[[202.0, 201.0], [102.0]]] * 2
    assert noise.repeats([host.pk], ["another"]) == {}
