"""A warehouse of another release is refused before anything is written."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from benchhub.bench.operations import doctor, releases
from benchhub.catalog.models import Workload

pytestmark = pytest.mark.django_db


def test_a_warehouse_of_this_release_is_taken():
    assert releases.refusal() == ""
    assert releases.applied() <= releases.own()


def test_a_warehouse_with_tables_of_another_release_is_refused_in_one_sentence_and_left_as_it_is():
    MigrationRecorder(connection).record_applied("bench", "9999_from_tomorrow")
    before = Workload.objects.count()
    with pytest.raises(
        CommandError, match=r"^The warehouse has tables of another release, .*bench\.9999_from_tomorrow"
    ):
        call_command("prepare")
    assert Workload.objects.count() == before
    finding = doctor._migrations()
    assert finding.level == "bad" and "bench.9999_from_tomorrow" in finding.text
