import shutil
import subprocess
from datetime import UTC, datetime
from html import unescape

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.catalog.hosts import page as host_page
from benchhub.catalog.models import Hardware, Host, InterferenceGroup
from runners.os_settings.script import VERSION

pytestmark = pytest.mark.django_db
FIRST = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ"
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPm8TQ5v2qvYvWm1Jm7oTn1Gk8m5oQvZqf5o0p8XyZ3r"
TYPED = {"name": "box", "address": "box.test", "port": "2222", "username": "bench"}
LIST_QUERIES = 4  # session, user, count, page
PAGE_QUERIES = 5  # session, user, host, instances, builds


def offer(host, key, trust=Host.Trust.OFFERED):
    Host.objects.filter(pk=host.pk).update(offered_host_key=key, trust=trust)


def page_of(host):
    return reverse("host", args=[host.pk])


def add(client, **typed):
    return client.post(reverse("host-add"), {**TYPED, **typed})


def test_an_added_host_has_a_key_pair_and_is_asked_for_its_key_at_once(engineer, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks() as after:
        answer = add(engineer, group="rack 1")
    host = Host.objects.get()
    assertRedirects(answer, page_of(host))
    assert len(after) == 1  # a worker is woken
    assert (host.wanted, host.trust) == ("key", "unknown")
    assert (host.port, host.work_directory, host.interference_group.name) == (2222, ".benchhub", "rack 1")
    assert host.public_key.endswith(" benchhub box")
    assert "PRIVATE KEY" in host.private_key


def test_the_page_of_a_new_host_shows_the_line_that_installs_its_key_and_what_is_next(engineer, host):
    host.ask("key")
    answer = engineer.get(page_of(host))
    assert f"echo '{host.public_key}' >> ~/.ssh/authorized_keys" in unescape(answer.content.decode())
    assertContains(answer, "every 5s")
    assertContains(answer, "looking for its host key")
    states = [step.state for step in answer.context["page"].steps.values()]
    assert states == ["next", "next", "later", "later"]
    assertNotContains(answer, "Approve this key")
    assertNotContains(answer, reverse("host-probe", args=[host.pk]))


def test_a_host_that_is_known_by_deliveries_only_asks_for_no_key(engineer, host):
    Host.objects.filter(pk=host.pk).update(trust=Host.Trust.ELSEWHERE, username="")
    answer = engineer.get(page_of(host))
    assertContains(answer, "BenchHub has never logged in on it")
    assertNotContains(answer, "Install the public key")


def test_the_line_that_installs_the_key_works_whatever_the_host_is_called(host, tmp_path):
    host.name = "o'brien's $(touch x) box"
    host.make_key_pair()
    subprocess.run(["sh", "-c", host_page.install_line(host)], env={"HOME": str(tmp_path)}, check=True)
    keys = tmp_path / ".ssh" / "authorized_keys"
    assert keys.read_text() == host.public_key + "\n"
    assert (keys.stat().st_mode & 0o777, keys.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_private_key_stands_on_no_page(engineer, host):
    pages = [page_of(host), reverse("hosts"), reverse("host-edit", args=[host.pk]), reverse("host-add")]
    for path in pages:
        text = engineer.get(path).content.decode()
        assert "PRIVATE" not in text
        assert host.private_key.splitlines()[2] not in text


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_a_fingerprint_is_the_one_that_ssh_keygen_prints(tmp_path):
    file = tmp_path / "key.pub"
    file.write_text(FIRST + "\n")
    printed = subprocess.run(["ssh-keygen", "-lf", file], capture_output=True, text=True, check=True).stdout
    assert host_page.fingerprint(FIRST) == printed.split()[1]


@pytest.mark.parametrize(
    ("key", "file"), [("ssh-ed25519", "ed25519"), ("ecdsa-sha2-nistp256", "ecdsa"), ("ssh-rsa", "rsa")]
)
def test_the_command_for_the_console_reads_the_key_of_the_kind_that_was_offered(key, file):
    assert host_page.command_at_console(f"{key} AAAA") == f"ssh-keygen -lf /etc/ssh/ssh_host_{file}_key.pub"


def test_what_is_no_key_has_no_fingerprint():
    assert [host_page.fingerprint(text) for text in ("", "ssh-ed25519", "ssh-ed25519 AAA!")] == ["", "", ""]


def test_the_key_that_the_person_saw_is_approved(engineer, host):
    offer(host, FIRST)
    answer = engineer.get(page_of(host))
    assertContains(answer, host_page.fingerprint(FIRST))
    assertContains(answer, "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub")
    engineer.post(reverse("host-approve", args=[host.pk]), {"key": FIRST})
    host.refresh_from_db()
    assert (host.trust, host.host_key) == ("pinned", FIRST)
    states = [step.state for step in engineer.get(page_of(host)).context["page"].steps.values()]
    assert states == ["later", "done", "next", "later"]


def test_another_key_than_the_one_that_was_seen_is_not_approved(engineer, host):
    offer(host, OTHER)
    for key in (FIRST, "", "\0"):
        answer = engineer.post(reverse("host-approve", args=[host.pk]), {"key": key}, follow=True)
        assertContains(answer, "Nothing was approved")
    host.refresh_from_db()
    assert (host.trust, host.host_key) == ("offered", "")


def test_nothing_is_sent_to_a_host_whose_key_nobody_approved(engineer, host):
    offer(host, FIRST)
    answer = engineer.post(reverse("host-probe", args=[host.pk]), follow=True)
    assertContains(answer, "Nothing was sent: approve the host key first.")
    assert Host.objects.get().wanted == ""


def test_an_approved_host_can_be_probed(engineer, probed, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks() as after:
        engineer.post(reverse("host-probe", args=[probed.pk]))
    assert (Host.objects.get().wanted, len(after)) == ("facts", 1)
    assertContains(engineer.get(page_of(probed)), "looking for its facts")


def test_what_the_probe_found_and_what_is_missing_is_told_in_sentences(engineer, probed):
    answer = engineer.get(page_of(probed))
    for text in ("A CPU", "Debian GNU/Linux 12", "64 GiB", "/opt/pg18/bin", "18.4", "3,400"):
        assertContains(answer, text)
    troubles = answer.context["page"].troubles
    assert any("flock is missing" in text and "install util-linux" in text for text in troubles)
    assert any("clock source" in text for text in troubles)
    assert not any("No pgbench" in text or "No PostgreSQL" in text or "percentiles" in text for text in troubles)
    assert [build["version"] for build in answer.context["page"].builds] == ["18.4", "16.4"]
    assert [step.state for step in answer.context["page"].steps.values()] == ["done", "done", "done", "next"]


def test_a_host_without_postgresql_says_where_it_was_sought(probed):
    probed.facts = {**probed.facts, "builds": [], "time_skew_s": -70.0}
    troubles = " ".join(host_page.troubles(probed))
    assert "No PostgreSQL server was found" in troubles
    assert "No pgbench was found" in troubles
    assert "-70.0 s apart" in troubles


def test_cores_that_differ_from_what_was_bought_are_told(probed):
    probed.hardware = Hardware(name="Bought", sockets=2, cores_per_socket=10)
    assert any("saw 1 x 8 cores, but Bought has 2 x 10" in text for text in host_page.troubles(probed))
    probed.hardware = Hardware(name="Bought", sockets=1, cores_per_socket=8)
    assert not any("Bought" in text for text in host_page.troubles(probed))


def test_memory_modules_are_told_by_kind(probed):
    probed.facts = {**probed.facts, "memory_modules": [{"count": 8, "size_bytes": 2**35, "kind": "Registered-DDR4"}]}
    assert ("Memory modules", "8 x 32 GiB Registered-DDR4") in [(f.name, f.value) for f in host_page.facts(probed)]


def test_what_a_guest_sees_is_not_compared_with_what_was_bought(probed):
    probed.hardware = Hardware(name="Bought", sockets=2, cores_per_socket=10, memory_bytes=2**40, vm_vcpus=16)
    probed.facts = {**probed.facts, "virtualization": ["kvm"]}
    assert not any("Bought" in text for text in host_page.troubles(probed))
    assert host_page.bought_and_found(probed) == []
    probed.hardware.vm_vcpus = 8
    [row] = host_page.bought_and_found(probed)
    assert (row.name, row.bought, row.probed) == ("vCPUs of the virtual machine", 8, 16)


def test_an_error_of_the_last_visit_stands_on_the_page(engineer, host):
    Host.objects.update(contact_error="box refused the connection: check the port.")
    assertContains(engineer.get(page_of(host)), "refused the connection: check the port.")
    assertContains(engineer.get(reverse("hosts")), "the last visit failed")


def test_a_quarantined_host_shows_both_keys_and_is_trusted_again_only_by_approval(engineer, probed):
    Host.objects.update(host_key=FIRST)
    offer(probed, OTHER, Host.Trust.QUARANTINED)
    answer = engineer.get(page_of(probed))
    assertContains(answer, host_page.fingerprint(FIRST))
    assertContains(answer, host_page.fingerprint(OTHER))
    assertContains(answer, "Nothing is sent to it until somebody approves the new key")
    assertNotContains(answer, reverse("host-probe", args=[probed.pk]))
    engineer.post(reverse("host-approve", args=[probed.pk]), {"key": OTHER})
    assert (Host.objects.get().trust, Host.objects.get().host_key) == ("pinned", OTHER)


@pytest.mark.parametrize("name", ["host-look", "host-approve", "host-probe"])
def test_what_touches_a_host_is_never_done_by_a_link(engineer, host, name):
    assert engineer.get(reverse(name, args=[host.pk])).status_code == 405


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"name": ""}, "required"),
        ({"name": "two\nlines"}, "on one line"),
        ({"address": "a b"}, "without blanks"),
        ({"port": "0"}, "greater than or equal to 1"),
        ({"port": "65536"}, "less than or equal to 65535"),
        ({"port": "x"}, "whole number"),
        ({"username": "a b"}, "without blanks"),
        ({"hardware": "999"}, "Select a valid choice"),
    ],
)
def test_a_mistake_is_told_beside_its_field_and_what_was_typed_is_kept(engineer, typed, sentence):
    answer = add(engineer, **typed)
    [(field, errors)] = answer.context["page"].form.errors.items()
    assert field in typed
    assert sentence in errors[0]
    assertContains(answer, 'value="bench"' if field != "username" else 'value="a b"')
    assert not Host.objects.exists()


def test_a_second_host_of_the_same_name_or_place_is_refused_beside_the_field(engineer, host):
    errors = add(engineer).context["page"].form.errors
    assert errors == {"name": ["There is already a host of this name: choose another one."]}
    errors = add(engineer, name="other", address="192.0.2.1", port="22").context["page"].form.errors
    assert errors == {"address": ["The host box has this address, port and user already."]}
    assert Host.objects.count() == 1


def edited(client, host, **changes):
    same = {"name": "box", "address": "192.0.2.1", "port": "22", "username": "bench", "work_directory": "work"}
    return client.post(reverse("host-edit", args=[host.pk]), {**same, **changes})


def test_an_edit_keeps_key_pair_trust_and_facts(engineer, probed):
    assertRedirects(edited(engineer, probed, name="renamed", group="rack"), page_of(probed))
    after = Host.objects.get()
    assert (after.name, after.work_directory, after.interference_group.name) == ("renamed", "work", "rack")
    assert (after.private_key, after.trust, after.facts) == (probed.private_key, "pinned", probed.facts)
    assert after.wanted == ""
    edited(engineer, probed)
    assert Host.objects.get().interference_group is None


def test_a_host_that_moved_is_asked_for_its_key_again_and_its_old_facts_are_forgotten(engineer, probed):
    edited(engineer, probed, address="192.0.2.9")
    after = Host.objects.get()
    assert (after.wanted, after.facts, after.facts_at) == ("key", {}, None)
    assert (after.trust, after.host_key) == ("pinned", "ssh-ed25519 AAAA")  # another machine would be quarantined


def test_the_list_is_searched_filtered_and_sorted(engineer, probed):
    second = Host(name="attic", address="192.0.2.2", username="bench")
    second.make_key_pair()
    second.save()

    def names(**query):
        return [row.name for row in engineer.get(reverse("hosts"), query).context["listing"].page]

    assert names() == ["attic", "box"]
    assert names(sort="-name") == ["box", "attic"]
    assert names(q="192.0.2.1") == ["box"]
    assert names(trust="unknown") == ["attic"]
    assert names(probed="yes") == ["box"]


def test_an_empty_list_says_what_to_do_first(engineer):
    assertContains(engineer.get(reverse("hosts")), "No host yet")


def make_hosts(count):
    for number in range(count):
        group = InterferenceGroup.objects.create(name=f"g{number}")
        hardware = Hardware.objects.create(name=f"w{number}", sockets=1, cores_per_socket=1)
        now = datetime(2026, 1, 1, tzinfo=UTC)
        place = {"address": f"192.0.2.{number}", "username": "u", "private_key": "p", "public_key": "k"}
        Host.objects.create(name=f"h{number}", interference_group=group, hardware=hardware, facts_at=now, **place)


@pytest.mark.parametrize("count", [1, 9])
def test_the_list_asks_the_database_as_often_for_many_hosts_as_for_one(engineer, count, django_assert_num_queries):
    make_hosts(count)
    with django_assert_num_queries(LIST_QUERIES):
        engineer.get(reverse("hosts"))


def test_a_host_is_read_with_few_queries(engineer, probed, django_assert_num_queries):
    with django_assert_num_queries(PAGE_QUERIES):
        engineer.get(page_of(probed))


def test_pages_are_for_people_who_signed_in(client, host):
    for path in (reverse("hosts"), page_of(host), reverse("host-add")):
        assert client.get(path).status_code == 302
    client.post(reverse("host-look", args=[host.pk]))
    assert Host.objects.get().wanted == ""


def test_the_page_says_how_a_host_lets_runs_change_settings_of_its_operating_system(engineer, probed):
    answer = engineer.get(page_of(probed))
    assertContains(answer, "No run changes any here.")
    lines = answer.context["page"].os_helper_lines
    assert f"echo '{probed.username} ALL=(root) NOPASSWD: /usr/local/sbin/benchhub-os-settings' > " in lines
    probed.facts["os_settings"] = 1
    probed.save()
    assertContains(engineer.get(page_of(probed)), "until the helper is replaced")
    probed.facts["os_settings"] = VERSION
    probed.save()
    assertContains(engineer.get(page_of(probed)), "the last probe found the helper")


def test_an_account_that_sudo_would_read_as_a_group_is_in_no_rule(engineer, probed):
    Host.objects.filter(pk=probed.pk).update(username="%wheel")
    answer = engineer.get(page_of(probed))
    assert "echo 'ACCOUNT ALL=(root)" in answer.context["page"].os_helper_lines


def test_the_helper_is_handed_out_as_a_script_that_knows_its_version(engineer, tmp_path):
    answer = engineer.get(reverse("os-settings-helper"))
    assert answer["Content-Disposition"] == 'attachment; filename="benchhub-os-settings"'
    script = tmp_path / "helper"
    script.write_bytes(answer.content)
    assert (
        subprocess.run(["/bin/sh", script, "version"], capture_output=True, check=True).stdout
        == f"{VERSION}\n".encode()
    )
