"""What the form of an instance offers follows the server that is chosen, by keyboard alone."""

import pytest
from django.urls import reverse

from benchhub.catalog.conftest import FACTS
from benchhub.catalog.models import Host
from tests.browser import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
BUILDS = FACTS["builds"][:1]


def server(port, *databases):
    return {"socket_directory": f"/run/{port}", "port": port, "databases": list(databases)}


def test_databases_and_sockets_of_the_chosen_servers_host_are_offered(page):
    for name, running in (("box", server(5440, "shop")), ("other", server(5441, "stock"))):
        Host.objects.create(name=name, address=name, facts={"builds": BUILDS, "servers": [running]})
    sign_in(page)
    page.goto(reverse("instance-add"))
    assert page.locator("#databases option").count() == 2
    page.get_by_label("Name").fill("typed before")
    page.locator("#id_server").focus()
    for database, missing, address, host in (
        ("shop", "stock", "/run/5440", "box"),
        ("stock", "shop", "/run/5441", "other"),
    ):
        page.keyboard.press("ArrowDown")
        page.locator(f"#databases option[value={missing}]").wait_for(state="detached")
        page.locator(f"#databases option[value={database}]").wait_for(state="attached")
        assert page.locator("#addresses option").get_attribute("value") == address
        assert host in page.locator("#ports option").inner_text()
    assert page.locator("#id_server").evaluate("field => field == document.activeElement")
    assert page.get_by_label("Name").input_value() == "typed before"
    assert page.locator("[name=database]").evaluate("field => field.list.options[0].value") == "stock"
