"""The page of a design: its matrix by any two dimensions, with numbers computed by hand."""

import pytest
from django.db.models.functions import Now

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import Design, Experiment, Run
from benchhub.catalog.models import Workload
from benchhub.reports.designs.matrix import CLIENTS, SCALE, THREADS, Matrix, _without_scale, peak_words
from benchhub.reports.designs.page import DesignResultPage

pytestmark = pytest.mark.django_db
# (scale, thread rule) -> TPS at 1 and at 8 clients, two repeats each.
MEASURED = {
    (10, "clients"): ((300, 300), (980, 1020)),
    (10, "1"): ((300, 300), (600, 600)),
    (100, "clients"): ((200, 200), (490, 510)),
    (100, "1"): ((250, 250), (240, 240)),
}


@pytest.fixture
def design(client):
    client.force_login(make_user("ada", Role.RUNNER))
    host, hardware = (
        testing.make_host("quokka", "192.0.2.77"),
        testing.make_box(),
    )
    system, design = testing.make_system("18", host, hardware), Design.objects.create(name="Scales by threads")
    for (scale, rule), levels in MEASURED.items():
        parameters = {**testing.PARAMETERS, "scale": scale}
        workload, _ = Workload.objects.get_or_create(
            name=f"select-only {scale}", defaults={"tool": "pgbench", "parameters": parameters}
        )
        part = testing.make_experiment(
            [system], design=design, name=f"{scale} {rule}", workload=workload, thread_rule=rule
        )
        for clients, values in zip((1, 8), levels, strict=True):
            for repeat, tps in enumerate(values, start=1):
                testing.succeeded(testing.make_run(part, system, clients, repeat), float(tps))
    return design


def loaded(design):
    return DesignResultPage(design, {}).matrix


def numbers(heat_map):
    return [(value, [cell and cell.text for cell in cells]) for value, cells in heat_map.rows]


def test_the_matrix_has_the_peak_of_each_part(design):
    (heat_map,) = loaded(design).heat_maps(SCALE, THREADS)
    assert heat_map.columns == ("clients", "1")
    assert numbers(heat_map) == [("10", ["1,000", "600"]), ("100", ["500", "250"])]
    assert [cell.level.clients for _, cells in heat_map.rows for cell in cells] == [8, 8, 8, 1]


def test_turning_the_matrix_turns_rows_and_columns(design):
    (heat_map,) = loaded(design).heat_maps(THREADS, SCALE)
    assert numbers(heat_map) == [("clients", ["1,000", "500"]), ("1", ["600", "250"])]


def test_with_clients_as_columns_each_cell_is_a_level_and_the_rest_has_a_table_each(design):
    maps = loaded(design).heat_maps(SCALE, CLIENTS)
    assert [heat_map.title for heat_map in maps] == ["a thread per client", "1 thread"]
    assert numbers(maps[0]) == [("10", ["300", "1,000"]), ("100", ["200", "500"])]
    assert numbers(maps[1]) == [("10", ["300", "600"]), ("100", ["250", "240"])]


def test_shades_are_shares_of_the_highest_and_one_cell_is_marked(design):
    (heat_map,) = loaded(design).heat_maps(SCALE, THREADS)
    cells = [cell for _, cells in heat_map.rows for cell in cells]
    assert [cell.shade for cell in cells] == [7, 4, 4, 2]
    assert [cell.is_highest for cell in cells] == [True, False, False, False]
    assert [cell.is_at_edge for cell in cells] == [True, True, True, True]


def test_the_answer_names_the_highest_peak_and_its_place(design):
    matrix = loaded(design)
    assert peak_words(matrix.best, matrix.many) == "1,000 TPS at 8 clients (scale 10, a thread per client)"


def test_the_page_answers_first_and_each_picture_has_a_table_and_a_download(design, client):
    text = " ".join(client.get(f"/designs/{design.pk}/").content.decode().split())
    assert text.index("Highest as measured: 1,000 TPS at 8 clients") < text.index("Parts differ in their protocol")
    for name in ("peaks", "curves-1", "curves-2"):
        assert f"csv={name}" in text
    assert "curves-3" not in text
    assert 'data-figure="figure-map-1"' in text
    # Four peaks are few enough for a phone, and what bars are is said once for all pictures.
    assert "Show all 4 peaks" not in text


def test_the_peak_table_as_csv_has_every_part(design, client):
    response = client.get(f"/designs/{design.pk}/?csv=peaks")
    head, *lines = response.content.decode().splitlines()
    assert head.startswith('Workload,Scale,Threads,System,"Peak, TPS",Clients,From,To,which is,Runs,Remark')
    assert len(lines) == len(MEASURED)
    assert "select-only,10,clients,PostgreSQL 18,1000,8,980,1020,range,2,at the highest level," in lines[0]
    assert client.get(f"/designs/{design.pk}/?csv=nothing").status_code == 404


def test_an_address_that_names_no_two_dimensions_is_answered_as_usual_with_a_sentence(design, client):
    for query in ("rows=scale&columns=scale", "rows=moon&columns=scale", "rows=system&columns=scale"):
        text = client.get(f"/designs/{design.pk}/?{query}").content.decode()
        assert "Choose two different dimensions" in text
    turned = client.get(f"/designs/{design.pk}/?rows=threads&columns=scale").content.decode()
    assert "Choose two different" not in turned


def test_a_design_without_results_shows_its_plan_and_no_empty_matrix(design, client):
    part = design.experiments.get(name="10 1")
    planned = Design.objects.create(name="Planned")
    testing.make_experiment([part.systems.get()], design=planned, workload=part.workload)
    text = client.get(f"/designs/{planned.pk}/").content.decode()
    assert "No curve yet" in text
    assert "Turn the matrix" not in text


def test_more_parts_need_no_more_queries(design, django_assert_num_queries):
    first = Design.objects.create(name="One part")
    Experiment.objects.filter(pk=design.experiments.first().pk).update(design=first)
    with django_assert_num_queries(4):
        Matrix.load(first, DesignResultPage(first, {}).parts)
    with django_assert_num_queries(4):
        Matrix.load(design, DesignResultPage(design, {}).parts)


def test_a_picture_beside_the_map_has_its_numbers_and_names_its_lines(design):
    ((_, picture),) = DesignResultPage(design, {"rows": "scale", "columns": "threads"}).heat_maps
    lines = [trace for trace in picture.figure["data"] if "range" not in trace["name"]]
    assert [(trace["name"], trace["x"], trace["customdata"]) for trace in lines] == [
        ("clients", ["10", "100"], ["1,000", "500"]),
        ("1", ["10", "100"], ["600", "250"]),
    ]
    assert [name["text"] for name in picture.figure["layout"]["meta"]["names"]] == ["clients", "1"]


def test_curves_keep_the_colour_of_their_column_in_every_picture(design):
    page = DesignResultPage(design, {"rows": "scale", "columns": "threads"})
    titles = [panel.title for panel, _ in page.multiples]
    figures = [panel.figure["data"] for panel, _ in page.multiples]
    lines = [[trace for trace in traces if "," not in trace["name"]] for traces in figures]
    colours = [{trace["name"]: trace["meta"]["series"] for trace in traces} for traces in lines]
    assert titles == ["Scale 10", "Scale 100"]
    assert colours == [{"a thread per client": 0, "1 thread": 1}] * 2


@pytest.mark.parametrize(
    ("names", "name"),
    [
        (["TPC-B, scale 10", "TPC-B, scale 100"], "TPC-B"),
        (["select-only 10", "select-only 100"], "select-only"),
        (["tpcb@s10", "tpcb@s300"], "tpcb"),
        (["100", "1000"], "100"),
        (["Only one, scale 10"], "Only one, scale 10"),
    ],
)
def test_a_workload_is_named_without_its_scale(names, name):
    assert _without_scale(names) == name


def test_a_run_that_was_set_aside_is_in_no_cell(design):
    run = design.experiments.get(name="10 1").runs.filter(clients=8).first()
    Run.objects.filter(pk=run.pk).update(set_aside_at=Now())
    (heat_map,) = loaded(design).heat_maps(SCALE, THREADS)
    assert heat_map.rows[0][1][1].level.throughput.n == 1


def test_a_curve_whose_runs_are_all_set_aside_is_named_with_the_reasons(design, client):
    part = design.experiments.get(name="10 1")
    part.runs.update(set_aside_at=Now(), set_aside_reason="A backup ran.")
    matrix = loaded(design)
    assert len(matrix.places) == len(MEASURED) - 1
    sentence = (
        "PostgreSQL 18 in '10 1' is left out: all 4 runs with a result are set aside (A backup ran). "
        "Put one back on its page, or run it again."
    )
    assert matrix.problems == (sentence,)
    Run.objects.filter(experiment__design=design).update(set_aside_at=Now())
    text = client.get(f"/designs/{design.pk}/").content.decode()
    assert text.count("is left out") == len(MEASURED)
    assert "No curve yet" not in text
