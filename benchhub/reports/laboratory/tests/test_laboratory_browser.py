"""The handles in a browser: dragged, by keyboard, typed, kept in the address, and by a plain form without script."""

import pytest
from playwright.sync_api import expect

from benchhub.bench import testing
from benchhub.catalog.models import Hardware, LicenceModel
from benchhub.reports.testing import key, list_price
from tests.browser import is_too_wide, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def path():
    """Two systems on a box of 20 cores for 5,000 EUR; per core 1,800, per socket 4,200 EUR a year."""
    box, host = Hardware.objects.create(name="Box", sockets=2, cores_per_socket=10), testing.make_host()
    systems = [testing.make_system(version, host, box) for version in ("16", "18")]
    experiment = testing.make_experiment(systems)
    for system, tps in zip(systems, (1000.0, 1200.0), strict=True):
        for repeat, part in enumerate((0.99, 1.0, 1.01), start=1):
            testing.succeeded(testing.make_run(experiment, system, 8, repeat), tps * part)
    list_price("5000", hardware=box)
    for name, metric, amount in (("Per socket", "socket", "4200"), ("Per core", "core", "1800")):
        list_price(amount, licence_model=LicenceModel.objects.create(name=name, metric=metric))
    curves = "&".join(f"curve={key(experiment, system)}" for system in systems)
    return f"/compare/laboratory/?{curves}"


@pytest.fixture
def tab(page, path):
    sign_in(page)
    page.goto(path)
    page.locator("#chart-laboratory.drawn").wait_for()
    return page


def at_handles(tab, sentence):
    tab.locator("[role=status]").get_by_text(sentence).wait_for()


# The chart is drawn anew some time after its window has another width.
LIES_UNDER_PLOT = """() => {
    const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    const plot = box("#chart-laboratory .nsewdrag"), slider = box("#slider-licence-price");
    return Math.abs(slider.x + 8 - plot.x) < 3 && Math.abs(slider.width - 16 - plot.width) < 3;
}"""


def handle_line(tab):
    return tab.evaluate("document.getElementById('chart-laboratory').data.find((trace) => trace.meta?.is_handle).x[0]")


def test_the_cheapest_stands_first_then_the_break_even_and_nothing_is_too_wide(tab):
    cheapest = tab.locator("p.lead").first.inner_text()
    assert cheapest.startswith("With Per core at 1,800 EUR per physical core and year, the cheapest is")
    break_even = tab.locator("p.flip").inner_text()
    assert break_even.startswith("Break-even at 420 EUR per physical core and year: below it Per core is the cheaper")
    assert not is_too_wide(tab)
    is_scrolled = "region => region.scrollWidth > region.clientWidth"
    assert not tab.locator("#table-flips .scroll").evaluate(is_scrolled)
    tab.set_viewport_size({"width": 1440, "height": 900})
    assert not is_too_wide(tab)


def test_a_slider_moves_by_keyboard_with_line_number_address_and_prices(tab):
    slider = tab.get_by_label("Licence price, slider")
    assert float(slider.input_value()) == handle_line(tab) == 1800
    slider.focus()
    slider.press("Home")
    at_handles(
        tab,
        "With Per core at 0 EUR per physical core and year, the cheapest is PostgreSQL 18",
    )
    assert handle_line(tab) == 0
    assert tab.locator("#handle-licence-price").input_value() == "0"
    assert "price=0" in tab.url
    assert slider.get_attribute("aria-valuetext") == "0 EUR per physical core and year"
    assert tab.evaluate("document.activeElement.id") == "slider-licence-price"
    tab.reload()
    at_handles(tab, "With Per core at 0 EUR per physical core and year")


@pytest.mark.whole
def test_the_handle_is_dragged_in_the_chart(tab):
    tab.locator("#chart-laboratory").scroll_into_view_if_needed()
    box = tab.locator("#chart-laboratory .nsewdrag").bounding_box()
    middle = box["y"] + box["height"] / 2
    tab.mouse.move(box["x"] + box["width"] * 0.7, middle)
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] * 0.5, middle)
    tab.mouse.move(box["x"] + box["width"] * 0.1, middle)
    tab.mouse.up()
    at_handles(tab, "The cheapest is PostgreSQL 18 under Per core")
    assert 150 < handle_line(tab) < 350
    assert f"price={tab.locator('#handle-licence-price').input_value()}" in tab.url


@pytest.mark.whole
def test_a_slow_answer_does_not_take_the_handle_back(tab):
    """The first answer is held until the handle has moved on."""
    held = []
    tab.route("**/compare/laboratory/?**", lambda route: held.append(route) if not held else route.continue_())
    slider = tab.get_by_label("Licence price, slider")
    slider.press("End")
    while not held:
        tab.wait_for_timeout(50)
    slider.press("Home")
    tab.evaluate("document.activeElement.blur()")
    tab.wait_for_timeout(400)
    held[0].continue_()
    at_handles(tab, "With Per core at 0 EUR per physical core and year")
    assert handle_line(tab) == 0
    assert (slider.input_value(), tab.locator("#handle-licence-price").input_value()) == ("0", "0")
    assert "price=0" in tab.url


@pytest.mark.whole
def test_the_slider_lies_under_the_axis_of_the_chart(tab):
    for width in (360, 1440):
        tab.set_viewport_size({"width": width, "height": 900})
        assert tab.wait_for_function(LIES_UNDER_PLOT)  # the chart is laid out anew some frames later


@pytest.mark.whole
def test_other_handles_move_the_same_prices(tab):
    tab.get_by_label("Term", exact=True).last.fill("1")
    tab.get_by_label("Term", exact=True).last.press("Tab")
    tab.wait_for_url("**term=1*")
    # (5,000 + 8,400) / 1,200
    tab.locator("#at-handles").get_by_text("11.17").wait_for()
    tab.get_by_text("Undo all changes").click()
    tab.locator("#at-handles").get_by_text("25.17").wait_for()
    assert "term" not in tab.url


@pytest.mark.whole
def test_another_axis_is_drawn_without_a_reload(tab):
    tab.evaluate("window.isSamePage = true")
    tab.locator("label:has(input[value=cores])").click()
    tab.get_by_text("From 3 cores per socket on Per socket is cheaper than Per core").first.wait_for()
    assert tab.evaluate("window.isSamePage")
    assert "along=cores" in tab.url
    assert tab.evaluate("document.getElementById('chart-laboratory').layout.xaxis.title.text").startswith("Cores")


@pytest.mark.whole
def test_what_was_set_for_one_licence_or_axis_is_not_set_for_another(tab):
    for name, number in (("handle-licence-price", "400"), ("to", "900")):
        tab.locator(f"#{name}").fill(number)
        tab.locator(f"#{name}").press("Tab")
        tab.wait_for_url(f"**={number}*")
    tab.get_by_label("Licence whose price is moved").select_option(label="Per socket")
    at_handles(tab, "With Per socket at 4,200 EUR per occupied socket and year")
    assert "price=" not in tab.url and "to=" not in tab.url
    tab.locator("#to").fill("9000")
    tab.locator("#to").press("Tab")
    tab.wait_for_url("**to=9000*")
    tab.locator("label:has(input[value=term])").click()
    at_handles(tab, "With a term of 3 years")
    assert "to=" not in tab.url


@pytest.mark.whole
def test_without_script_handles_are_a_plain_form(chromium, live_server, path):
    context = chromium.new_context(base_url=live_server.url, java_script_enabled=False)
    tab = context.new_page()
    sign_in(tab)
    tab.goto(path)
    expect(tab.locator("#slider-licence-price")).to_be_hidden()
    tab.locator("#handle-licence-price").fill("400")
    tab.get_by_role("button", name="Apply").click()
    tab.wait_for_url("**price=400*")
    tab.get_by_text("With Per core at 400 EUR per physical core and year").wait_for()
    context.close()
