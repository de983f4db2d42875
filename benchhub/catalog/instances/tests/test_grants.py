"""What an owner grants runs to change on a server: given, checked against that server, refused, withdrawn."""

import pytest
from django.urls import reverse
from django.utils import timezone

from benchhub.accounts.models import Entry
from benchhub.bench import testing
from benchhub.catalog.hosts.page import withdrawn_text
from benchhub.catalog.instances import grants
from benchhub.catalog.instances.inspection import Expected, findings
from benchhub.catalog.models import Configuration, Host, Inspection, Instance
from benchhub.catalog.models.hosts import Approval
from runners.contract import ServerSettings
from runners.inspection.answer import Seen

pytestmark = pytest.mark.django_db
COMMAND = "sudo -n systemctl restart postgresql@16-main"
PARAMETERS = {
    "work_mem": {"kind": "integer", "unit": "kB", "context": "user", "lowest": "64", "highest": "2147483647"},
    "shared_buffers": {"kind": "integer", "unit": "8kB", "context": "postmaster", "lowest": "16", "default": "16384"},
    "jit": {"kind": "bool", "context": "user", "source": "command line"},
    "fsync": {"kind": "bool", "context": "sighup"},
    "min_wal_size": {"kind": "integer", "unit": "MB", "context": "sighup", "lowest": "2", "default": "80"},
    "max_connections": {"kind": "integer", "context": "postmaster", "lowest": "1", "default": "200"},
    "wal_segment_size": {"kind": "integer", "unit": "B", "context": "internal", "default": "67108864"},
}


@pytest.fixture
def server():
    instance = testing.make_instance(testing.probed_host("16.4"), "16.4", name="theirs")
    Inspection.objects.create(instance=instance, driver=instance.host, is_wanted=False, parameters=PARAMETERS)
    return instance


def granted(instance, grant, command=""):
    instance.grant, instance.restart_command = grant, command
    instance.save()
    return instance


def configuration(**settings):
    return Configuration.objects.create(name="other", settings=settings)


def refusals(instance, **settings):
    return grants.refusals_by_layer(instance, Configuration(name="other", settings=settings))["settings"]


def test_without_a_grant_every_configuration_but_its_own_is_refused(server):
    [sentence] = refusals(server, work_mem="8MB")
    assert sentence.startswith("theirs has settings of its own, and its owner lets BenchHub change none of them")
    assert grants.refusals_by_layer(server, server.configuration) == {}
    assert grants.asked_settings(server, server.configuration) is None


def test_a_standby_is_refused_every_change_and_restart_and_measured_as_it_is_without_a_grant(server):
    Inspection.objects.update(sight={"is_standby": True})
    granted(server, "reload").refresh_from_db()
    [sentence] = refusals(server, work_mem="8MB")
    assert sentence.startswith("theirs is a standby, and settings are changed on a primary alone: choose its primary")
    assert sentence.endswith("If it was promoted since, test the instance again.")
    assert grants.asked_settings(server, server.configuration) is None
    granted(server, "restart", COMMAND)
    with pytest.raises(ValueError, match="theirs is a standby"):
        grants.asked_settings(server, server.configuration)


def test_a_reload_applies_what_a_reload_can_and_names_what_it_cannot(server):
    granted(server, "reload")
    change = grants.asked_settings(server, configuration(WORK_MEM="8MB"))
    assert change == ServerSettings({"work_mem": "8MB"}, {"work_mem": "8192"}, ())
    assert refusals(server, shared_buffers="1GB", work_mem="8MB") == [
        "shared_buffers takes effect at a restart alone, and the grant of theirs is for a reload."
    ]
    with pytest.raises(ValueError, match="shared_buffers takes effect at a restart alone"):
        grants.asked_settings(server, Configuration(name="third", settings={"shared_buffers": "1GB"}))


def test_a_restart_applies_all_and_comes_before_each_run_whatever_its_configuration(server):
    granted(server, "restart", COMMAND)
    words = ("sudo", "-n", "systemctl", "restart", "postgresql@16-main")
    assert grants.asked_settings(server, configuration(shared_buffers="1GB")) == ServerSettings(
        {"shared_buffers": "1GB"}, {"shared_buffers": "131072"}, words
    )
    assert grants.asked_settings(server, server.configuration) == ServerSettings({}, {}, words)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"work_mem": "1 KB"}, "work_mem takes the units B, kB, MB, GB, TB, not 'KB'"),
        ({"work_mem": "1kB"}, "work_mem is from 64 to 2147483647 kB"),
        ({"work_men": "1MB"}, "work_men is no setting of PostgreSQL 16.4. Is work_mem meant?"),
        ({"jit": "off"}, "jit is set by the command line of theirs, which no configuration overrides."),
        ({"min_wal_size": "100MB"}, "min_wal_size is at least two WAL segments, which are 64 MB each"),
        ({"fsync": "off"}, "fsync is not applied: a crash during the run would damage what others have there"),
        ({"port": "1"}, "port is not applied: it is where others find the server."),
        ({"archive_command": "true"}, "archive_command is not applied: it would run a command on the host."),
        ({"shared_preload_libraries": "x"}, "it loads a library into somebody's server"),
        ({"allow_alter_system": "off"}, "the former settings could not be put back"),
        ({"Password_Encryption": "md5"}, "it is about who gets in"),
        ({"wal_level": "minimal"}, "backups, standbys and transactions of others depend on it"),
        ({"statement_timeout": "1"}, "it would end what others do"),
    ],
)
def test_what_no_run_may_set_there_is_refused_by_name(server, settings, sentence):
    [refusal] = refusals(granted(server, "restart", COMMAND), **settings)
    assert sentence in refusal


@pytest.mark.parametrize(
    ("grant", "value", "words"),
    [
        ("restart", "300", ""),
        ("restart", "200", ""),
        ("restart", "199", "max_connections is 200 there, and runs only raise it: leave it out, or write 200 or more."),
        ("restart", "5001", "max_connections may be 5,000 at most on somebody's server, not 5,001."),
        ("reload", "300", "max_connections takes effect at a restart alone, and the grant of theirs is for a reload."),
    ],
)
def test_a_restart_raises_the_number_of_connections_and_locks_nobody_out(server, grant, value, words):
    granted(server, grant, COMMAND if grant == "restart" else "")
    assert refusals(server, max_connections=value) == ([words] if words else [])


def test_what_the_server_is_meant_to_have_anyway_is_neither_applied_nor_refused(server):
    """Its own configuration asks for fsync = on, and so does the other: a series of steps on it repeats that."""
    other = configuration(fsync="on", work_mem="8MB")
    assert server.configuration.settings == {"fsync": "on"}
    assert grants.asked_settings(granted(server, "reload"), other).settings == {"work_mem": "8MB"}
    assert grants.asked_settings(server, Configuration(name="alike", settings={"fsync": "on"})) is None


def test_settings_of_the_operating_system_are_not_applied_there(server):
    row = Configuration(name="other", settings={"work_mem": "1MB"}, os_settings={"vm.swappiness": "1"})
    by_layer = grants.refusals_by_layer(granted(server, "reload"), row)
    assert by_layer["settings"] == [] and "clusters of BenchHub's own alone" in by_layer["os_settings"][0]


def test_a_server_that_nobody_has_tested_since_the_grant_is_tested_first(server):
    Inspection.ask(granted(server, "reload"), server.host)
    [sentence] = refusals(Instance.objects.get(), work_mem="1MB")
    assert sentence.startswith("Which settings theirs knows was not seen yet: test the instance")


@pytest.mark.parametrize(
    ("grant", "restart", "is_granted"),
    [
        ("none", (), False),
        ("none", ("x",), False),
        ("reload", (), True),
        ("reload", ("x",), False),
        ("restart", (), True),
        ("restart", ("x",), True),
    ],
)
def test_a_grant_that_is_withdrawn_holds_for_what_was_planned_before(server, grant, restart, is_granted):
    reason = grants.withdrawn(granted(server, grant, "/bin/true"), ServerSettings({}, {}, restart))
    assert (reason == "") is is_granted


@pytest.fixture
def typed(server):
    return {
        "name": "theirs", "server": f"{server.host_id}:/opt/pg16/bin", "address": "127.0.0.1", "port": "5432",
        "database": "bench", "username": "bench", "configuration": server.configuration_id, "data_directory": "",
    }  # fmt: skip


def errors(client, instance, typed, **changes):
    answer = client.post(f"/instances/{instance.pk}/edit", {**typed, **changes})
    instance.refresh_from_db()
    return answer.context["page"].form.errors if answer.context else {}


def test_a_grant_is_given_on_the_form_and_the_server_is_tested_at_once(engineer, server, typed):
    assert errors(engineer, server, typed, grant="restart", restart_command=" sudo systemctl restart pg@16 ") == {}
    assert (server.grant, server.restart_words) == ("restart", ("sudo", "-n", "systemctl", "restart", "pg@16"))
    assert Inspection.objects.get().is_wanted
    Inspection.objects.update(is_wanted=False, seen_at=timezone.now())
    assert errors(engineer, server, typed, grant="restart", restart_command=server.restart_command) == {}
    assert not Inspection.objects.get().is_wanted  # nothing has changed
    assert errors(engineer, server, typed) == {} and server.grant == "none"


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"grant": "restart"}, "restart_command", "Write the command by which it is restarted"),
        ({"grant": "restart", "restart_command": "rm -rf /; true"}, "restart_command", "no shell reads them"),
        ({"grant": "restart", "restart_command": "sudo sh -c 'x'"}, "restart_command", "no shell reads them"),
        ({"grant": "restart", "restart_command": "/bin/echo $(id)"}, "restart_command", "no shell reads them"),
        ({"grant": "restart", "restart_command": "pg_ctl restart"}, "restart_command", "whole path of a program"),
        ({"grant": "reload", "server": "managed", "version": "16.4"}, "grant", "cannot be reached"),
        ({"grant": "all"}, "grant", "valid choice"),
    ],
)
def test_a_grant_that_cannot_be_carried_out_is_refused(engineer, server, typed, fields, field, sentence):
    assert sentence in errors(engineer, server, typed, **fields)[field][0]
    assert server.grant == "none"


def test_a_grant_does_not_go_along_to_another_server(engineer, server, typed):
    granted(server, "reload")
    assert (
        "granted for the server as it was" in errors(engineer, server, typed, grant="reload", port="6000")["grant"][0]
    )
    assert errors(engineer, server, typed, grant="none", port="6000") == {} and server.port == 6000


@pytest.mark.parametrize(("before", "grant"), [("ssh-ed25519 AAAAold", "none"), ("ssh-ed25519 AAAAnew", "reload")])
def test_a_grant_ends_with_the_key_of_the_machine_that_it_was_given_for(engineer, server, before, grant):
    other = testing.make_instance(testing.make_host("else", "192.0.2.2"), "16.4", name="other")
    for instance in (server, other):
        granted(instance, "reload")
    Host.objects.update(host_key=before, offered_host_key="ssh-ed25519 AAAAnew")
    answer = engineer.post(reverse("host-approve", args=[server.host_id]), {"key": "ssh-ed25519 AAAAnew"}, follow=True)
    for instance in (server, other):
        instance.refresh_from_db()
    assert (server.grant, other.grant) == (grant, "reload")
    is_told = [message for message in answer.context["messages"] if "settings of theirs any more" in str(message)]
    assert bool(is_told) == ("settings of theirs" in Entry.objects.latest("pk").detail) == (grant == "none")


@pytest.mark.parametrize(
    ("runs", "end"),
    [
        ((), "still agrees."),
        ((7,), "still agrees. In the queue run 7 waits for it: grant it, or cancel."),
        (range(1, 8), " run 1, run 2, run 3, run 4, run 5 and 2 more runs wait for it: grant it, or cancel."),
    ],
)
def test_who_ends_a_grant_by_a_key_is_told_which_runs_wait_for_it(runs, end):
    assert withdrawn_text(Approval(("theirs",), tuple(runs))).endswith(end)
    assert withdrawn_text(Approval((), tuple(runs))) == ""


def finding(sight, **expected):
    whole = {"is_here": True, "is_changed": True, **expected}
    lines = findings(Seen(version_num=160004, **sight), Expected("16.4", 160004, **whole))
    return next((line for line in lines if line.name == "Change of settings"), None)


SIGHT = {"is_superuser": True, "parameters": PARAMETERS, "owns_file": False}


@pytest.mark.parametrize(
    ("sight", "expected", "level", "words"),
    [
        (SIGHT, {}, "ok", "change what a reload can change"),
        ({**SIGHT, "is_superuser": False}, {}, "bad", "no superuser"),
        ({**SIGHT, "parameters": None}, {}, "bad", "did not say which settings"),
        ({**SIGHT, "settings": {"allow_alter_system": "off"}}, {}, "bad", "allow_alter_system is off"),
        (SIGHT, {"is_here": False}, "warn", "Not looked at from here"),
        (SIGHT, {"is_restarted": True}, "warn", "belongs to another account"),
        ({**SIGHT, "owns_file": True}, {"is_restarted": True}, "ok", "begin with a restart"),
        ({**SIGHT, "command_error": "There is no program x."}, {"is_restarted": True}, "bad", "no program x"),
    ],
)
def test_the_test_of_the_instance_says_whether_runs_can_do_what_they_may(sight, expected, level, words):
    line = finding(sight, **expected)
    assert line.level == level and words in line.text


def test_nothing_is_said_of_it_where_nothing_is_granted():
    assert finding(SIGHT, is_changed=False) is None
