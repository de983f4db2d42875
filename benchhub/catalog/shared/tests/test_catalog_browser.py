"""A host is added by clicking, on a real target: key, fingerprint, probe, instance. Nothing else is needed."""

from pathlib import Path

import pytest

from benchhub.bench.execute import visits
from benchhub.bench.execute.inspections import visit_inspections
from benchhub.catalog.hosts import page as host_page
from benchhub.catalog.models import Configuration, Host, Instance
from benchhub.catalog.shared.testing import copy_install_line, install
from tests.browser import is_too_wide

pytestmark = [pytest.mark.browser, pytest.mark.target, pytest.mark.django_db(transaction=True)]
FOUND_BY_ITSELF = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))


def add_host(tab, target):
    tab.get_by_role("button", name="Menu").click()
    tab.locator("#live").get_by_role("link", name="Hosts", exact=True).click()
    tab.get_by_role("link", name="Add a host").first.click()
    tab.locator("[name=name]").fill("first box")
    tab.get_by_label("Address").fill(target.address)
    tab.get_by_label("Port").fill("70000")
    tab.locator("[name=username]").fill(target.username)
    tab.get_by_label("Work directory").fill(str(target.work_directory))
    tab.get_by_role("button", name="Add the host").click()
    tab.get_by_text("less than or equal to 65535").wait_for()
    tab.get_by_label("Port").fill(str(target.port))
    tab.get_by_role("button", name="Add the host").click()
    tab.get_by_text("A worker is looking for its host key").wait_for()


def approve(tab, target):
    """The part of the page that waited shows the fingerprint by itself."""
    visits.visit_hosts()
    tab.get_by_role("button", name="Approve this key").wait_for()
    assert host_page.fingerprint(target.host_key) in tab.get_by_text("SHA256:").inner_text()
    assert not is_too_wide(tab)
    tab.get_by_role("button", name="Approve this key").click()


def probe(tab):
    tab.get_by_role("button", name="Probe", exact=True).click()
    tab.get_by_text("A worker is looking for").wait_for()
    visits.visit_hosts()


def add_instance(tab):
    tab.get_by_role("link", name="Add an instance").first.click()
    tab.locator("[name=name]").fill("first server")
    tab.get_by_label("Configuration").select_option(label="defaults")
    tab.locator("[name=password]").fill("s3cret")
    tab.get_by_role("button", name="Add the instance").click()
    tab.get_by_role("heading", name="Test of first server").wait_for()
    visit_inspections()
    tab.get_by_text("Runs would fail: 1 thing to mend.").wait_for()
    assert not is_too_wide(tab)


@pytest.mark.whole
@pytest.mark.skipif(not FOUND_BY_ITSELF, reason="no PostgreSQL is installed where a probe finds it by itself")
def test_a_host_is_added_by_clicking_until_it_has_an_instance(tab, target):
    Configuration.objects.create(name="defaults")
    add_host(tab, target)
    assert not is_too_wide(tab)
    line = copy_install_line(tab)
    approve(tab, target)
    probe(tab)
    tab.get_by_text("refused the log-in").wait_for()  # nobody has installed the key yet
    install(line, target)
    probe(tab)
    tab.get_by_role("link", name="Add an instance").first.wait_for()
    assert not is_too_wide(tab)
    add_instance(tab)
    host, instance = Host.objects.get(), Instance.objects.get()
    assert (host.trust, host.wanted, host.facts["username"]) == ("pinned", "", target.username)
    assert (instance.host, instance.password) == (host, "s3cret")
    assert instance.bin_directory in {str(program.parent) for program in FOUND_BY_ITSELF}
    assert "s3cret" not in tab.content()
