import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from benchhub.catalog.models import Workload
from runners import tools
from tests.browser import is_too_wide, sign_in

pytestmark = pytest.mark.django_db
PAGE_QUERIES = 7
TATP = {"name": "tatp", "tool": "tatp", "subscribers": "200000", "mix": "80/20", "keys": "non-uniform"}
TATP |= {"population": "definition", "seed": "1"}
SCRIPT = "\\set aid random(1, 100000 * :scale)\r\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\r\n"
SCRIPTS = {"name": "own", "tool": "pgbench", "script_1": SCRIPT, "weight_1": "3", "query_mode": "simple", "scale": "10"}


@pytest.fixture
def author(client):
    grace = get_user_model().objects.create_user("grace")
    grace.groups.add(Group.objects.get_or_create(name="administrator")[0])
    client.force_login(grace)
    call_command("write_scripts", "grace")
    return client


def add(kind, **further):
    return f"{reverse('workload-add')}?kind={kind}" + "".join(f"&{name}={value}" for name, value in further.items())


def test_a_workload_of_tatp_keeps_no_defaults_but_size_and_mix(author):
    assertRedirects(author.post(add("tatp"), TATP), reverse("workloads"))
    made = Workload.objects.get()
    assert (made.tool, made.parameters) == ("tatp", {"subscribers": 200_000, "mix": "80/20"})
    assert tools.get("tatp").data_set(made.parameters) == {"tool": "tatp", "subscribers": 200_000}
    page = author.get(reverse("workloads"))
    assertContains(page, "200,000 subscribers")
    assertContains(page, "prepared")


def test_a_custom_mix_is_seven_numbers(author):
    author.post(add("tatp"), {**TATP, "mix": "custom", "weights": "0 0 50 0 50 0 0", "keys": "uniform", "seed": "9"})
    made = Workload.objects.get()
    weights = {"GET_ACCESS_DATA": 50, "UPDATE_LOCATION": 50}
    expected = {"subscribers": 200_000, "mix": "custom", "keys": "uniform", "seed": 9, "weights": weights}
    assert made.parameters == expected
    assertContains(author.get(reverse("workload-revise", args=[made.pk])), 'value="0 0 50 0 50 0 0"')
    author.post(reverse("workload-revise", args=[made.pk]), {**TATP, "mix": "W100"})
    assert Workload.objects.current().get().parameters == {"subscribers": 200_000, "mix": "W100"}


@pytest.mark.parametrize(
    ("typed", "field", "sentence"),
    [
        ({"subscribers": "5"}, "subscribers", "At least 1,000 subscribers."),
        ({"subscribers": "900000000"}, "subscribers", "At most 100,000,000 subscribers."),
        (
            {"mix": "custom"},
            "weights",
            "A custom mix needs its weights. Write 7 whole numbers, one for each transaction.",
        ),
        ({"mix": "custom", "weights": "0 0 0 0 0 0 0"}, "weights", "at least one transaction with a weight above 0"),
        ({"weights": "1 2 3"}, "weights", "Write 7 whole numbers, one for each transaction; there are 3."),
        ({"weights": "-5 0 0 0 0 0 1"}, "weights", "A weight is a whole number from 0 to 10,000, not -5."),
        ({"weights": f"{'9' * 5000} 0 0 0 0 0 0"}, "weights", f"from 0 to 10,000, not {'9' * 24}…."),
        ({"weights": "1 0 0 0 0 0 0"}, "weights", 'Weights go with the mix "custom"'),
        ({"mix": "99/1"}, "mix", "valid choice"),
    ],
)
def test_what_is_no_workload_of_tatp_is_refused_beside_the_field(author, typed, field, sentence):
    answer = author.post(add("tatp"), {**TATP, **typed})
    [(at, errors)] = answer.context["page"].form.errors.items()
    assert (at, sentence in errors[0]) == (field, True), errors
    assertContains(answer, 'value="tatp"')
    assert not Workload.objects.exists()


def test_all_that_is_wrong_with_a_workload_is_said_at_once(author):
    Workload.objects.create(name="tatp", tool="tatp")
    wrong = {**TATP, "subscribers": "5", "seed": "-1", "keys": "none", "mix": "custom"}
    assert author.post(add("tatp"), wrong).context["page"].form.errors.keys() == {
        "name", "subscribers", "seed", "keys", "weights",
    }  # fmt: skip
    scripts = {**SCRIPTS, "name": "tatp", "script_1": "\\shell date", "scale": "9999999", "variables": "a-b = 1"}
    errors = author.post(add("scripts"), {**scripts, "init": "\\! date"}).context["page"].form.errors
    assert errors.keys() == {"name", "script_1", "scale", "variables", "init"}
    plain = {"name": "tatp", "tool": "sysbench", "script": "none", "tables": "1001", "table_size": "0"}
    errors = author.post(add("sysbench"), {**plain, "rand_type": "none"}).context["page"].form.errors
    assert errors.keys() == {"name", "script", "tables", "table_size", "rand_type"}
    assert Workload.objects.count() == 1


def test_custom_scripts_keep_their_weights_variables_and_digest(author):
    typed = {**SCRIPTS, "script_3": "SELECT :cutoff;", "variables": "cutoff = 7\nName = x", "init": "SELECT 1;\r\n"}
    assertRedirects(author.post(add("scripts"), typed), reverse("workloads"))
    made = Workload.objects.get()
    assert made.parameters["scripts"] == [
        {"text": SCRIPT.replace("\r\n", "\n"), "weight": 3},
        {"text": "SELECT :cutoff;", "weight": 1},
    ]
    assert (made.parameters["variables"], made.parameters["init"]) == ({"cutoff": 7, "Name": "x"}, "SELECT 1;")
    assert "init" in tools.get("pgbench").data_set(made.parameters)
    assert len(made.scripts_digest) == 64
    assertContains(author.get(reverse("workloads")), made.scripts_digest)


def test_the_list_tells_workloads_of_one_mix_and_size_apart(author):
    author.post(add("tatp"), TATP)
    assert Workload.objects.get().description.peculiarities == ()
    other = {"name": "other", "keys": "uniform", "population": "original-tool", "seed": 7}
    author.post(add("tatp"), {**TATP, **other, "mix": "custom", "weights": "3 0 0 0 1 0 0"})
    words = "3/0/0/0/1/0/0; uniform keys; forwardings last 1 to 24 hours; seed 7"
    assertContains(author.get(reverse("workloads")), f'<span class="under">{words}</span>')
    assertContains(author.get(reverse("workloads"), {"tool": "tatp"}), words)
    assertNotContains(author.get(reverse("workloads"), {"tool": "pgbench"}), words)


@pytest.mark.parametrize("text", ["--5", "9" * 5000])
def test_what_only_looks_like_a_number_stays_the_text_of_a_variable(author, text):
    assertRedirects(author.post(add("scripts"), {**SCRIPTS, "variables": f"cutoff = {text}"}), reverse("workloads"))
    assert Workload.objects.get().parameters["variables"] == {"cutoff": text}


def test_a_revision_has_a_digest_of_its_own_and_leaves_the_old_one(author):
    author.post(add("scripts"), SCRIPTS)
    first = Workload.objects.get()
    page = reverse("workload-revise", args=[first.pk])
    assertContains(author.get(page), first.scripts_digest)
    author.post(page, {**SCRIPTS, "script_1": "SELECT 2;"})
    second = Workload.objects.current().get()
    assert second.revision == 2 and second.scripts_digest != first.scripts_digest
    first.refresh_from_db()
    assert first.parameters["scripts"][0]["text"] == SCRIPT.replace("\r\n", "\n")


def test_a_revision_with_nothing_changed_is_none_and_the_page_says_so(author):
    for kind, typed in (("scripts", {**SCRIPTS, "variables": "Cutoff = 7", "init": "SELECT 1;"}), ("tatp", TATP)):
        author.post(add(kind), typed, follow=True)
        [made] = Workload.objects.filter(tool=typed["tool"])
        page = reverse("workload-revise", args=[made.pk])
        answer = author.post(page, typed, follow=True)
        assertContains(answer, "Nothing was changed, so there is no new revision")
        assertNotContains(answer, "is saved")
        assert Workload.objects.get(tool=typed["tool"]).retired_at is None
        assertContains(author.post(page, {**typed, "remark": "why"}, follow=True), "(revision 2) is saved")


@pytest.mark.parametrize("text", ["\\shell date", "\\set x 1\n\\setsh y date", "\\ \\\r\nshell date", "\\sh date"])
def test_a_script_that_runs_commands_on_the_driver_is_refused_and_kept_in_the_form(author, text):
    answer = author.post(add("scripts"), {**SCRIPTS, "script_2": f"SELECT 1;\r\n{text}"})
    [(field, [error])] = answer.context["page"].form.errors.items()
    line = 3 if text.startswith("\\set x") else 2
    assert field == "script_2" and error.startswith(f"Script 2, line {line}: ")
    assertContains(answer, "run commands on the driver")
    assert not Workload.objects.exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("-- nothing yet\r\n", "Script 2 has comments only, which pgbench refuses: write a statement, or nothing."),
        ("SELECT 1;\0", "A custom script must be text, not empty and without NUL characters."),
        ("SELECT 1;\r\n" * 10_001, "Script 2 has 100,010 characters: 100,000 at most, so shorten it."),
    ],
)
def test_a_script_that_cannot_be_run_is_refused_with_one_sentence(author, text, sentence):
    answer = author.post(add("scripts"), {**SCRIPTS, "script_2": text})
    assert answer.context["page"].form.errors == {"script_2": [sentence]}
    assert not Workload.objects.exists()
    assertRedirects(
        author.post(add("scripts"), {**SCRIPTS, "script_2": "SELECT 1;\r\n" * 10_000}), reverse("workloads")
    )


def test_an_init_script_has_the_limit_of_the_other_scripts(author):
    answer = author.post(add("scripts"), {**SCRIPTS, "init": "-" * 100_001})
    assert answer.context["page"].form.errors == {
        "init": ["The init script has 100,001 characters: 100,000 at most, so shorten it."]
    }


def test_an_init_script_that_is_for_psql_is_refused(author):
    answer = author.post(add("scripts"), {**SCRIPTS, "init": "SELECT 1;\n\\! date"})
    [(field, [error])] = answer.context["page"].form.errors.items()
    assert field == "init" and "SQL for the server" in error


def test_a_variable_that_pgbench_cannot_have_is_refused_beside_its_field(author):
    answer = author.post(add("scripts"), {**SCRIPTS, "variables": "cut-off = 7"})
    [(field, [error])] = answer.context["page"].form.errors.items()
    assert field == "variables" and "cannot be a variable of pgbench" in error


def test_the_custom_transaction_of_report_b_is_a_preset(author):
    page = author.get(add("scripts", preset="report-b"))
    assertContains(page, "BETWEEN :aid AND :aid + 10000")
    assertContains(page, 'value="1000"')
    assertContains(author.get(add("scripts")), "preset=report-b")
    assertNotContains(author.get(add("tatp", preset="report-b")), "BETWEEN")


def test_scripts_take_a_right_of_their_own(client, author):
    author.post(add("scripts"), SCRIPTS)
    made = Workload.objects.get()
    call_command("write_scripts", "grace", "--withdraw")
    for address in (add("scripts"), reverse("workload-revise", args=[made.pk])):
        assert author.get(address).status_code == 403
        assert author.post(address, {**SCRIPTS, "name": "other"}).status_code == 403
    assert Workload.objects.get() == made
    with pytest.raises(CommandError, match="no account named nobody"):
        call_command("write_scripts", "nobody")


def test_whoever_lacks_that_right_is_told_so_and_offered_no_link_that_would_be_refused(author):
    author.post(add("scripts"), SCRIPTS)
    revise = reverse("workload-revise", args=[Workload.objects.get().pk])
    assertContains(author.get(add("tatp")), "?kind=scripts")
    assertContains(author.get(reverse("workloads")), revise)
    call_command("write_scripts", "grace", "--withdraw")
    page = author.get(add("tatp"))
    assertNotContains(page, "?kind=scripts")
    assertContains(page, "an administrator can give your account the right to write them")
    listed = author.get(reverse("workloads"))
    assertNotContains(listed, revise)
    assertContains(listed, "Revising it needs the right to write scripts")


def test_a_workload_of_sysbench_is_its_script_on_its_tables(author):
    typed = {"name": "sb", "tool": "sysbench", "script": "oltp_point_select", "tables": "2", "table_size": "1000"}
    assertRedirects(author.post(add("sysbench"), {**typed, "rand_type": "uniform"}), reverse("workloads"))
    made = Workload.objects.get()
    assert tools.get("sysbench").data_set(made.parameters) == {"tool": "sysbench", "tables": 2, "table_size": 1000}
    assertContains(author.get(reverse("workloads")), "2 x 1,000 rows")


def test_each_revision_of_a_workload_can_be_read_without_the_right_to_change_it(
    client, author, django_assert_num_queries
):
    author.post(add("scripts"), {**SCRIPTS, "variables": "cutoff = 7", "init": "SELECT 1 AS first;"})
    [first] = Workload.objects.all()
    author.post(reverse("workload-revise", args=[first.pk]), {**SCRIPTS, "script_1": "SELECT '<b>';"})
    second = Workload.objects.current().get()
    client.force_login(get_user_model().objects.create_user("vera"))
    pages = {row: reverse("workload", args=[row.pk]) for row in (first, second)}
    assertContains(client.get(reverse("workloads")), f'<a href="{pages[second]}">own</a>')
    with django_assert_num_queries(PAGE_QUERIES):
        old = client.get(pages[first])
    for text in ("cutoff = 7", "Script 1, weight 3", "WHERE aid = :aid;", "SELECT 1 AS first;", "revision 1, replaced"):
        assertContains(old, text)
    assertContains(old, f'<dd class="hash">{first.scripts_digest}</dd>')
    assertContains(old, f'Other revisions: <a href="{pages[second]}">2</a>.')
    new = client.get(pages[second])
    assertContains(new, "SELECT &#x27;&lt;b&gt;&#x27;;")
    assertNotContains(new, reverse("workload-revise", args=[second.pk]))


@pytest.mark.parametrize(
    ("kind", "typed", "value"),
    [
        ("tatp", TATP, "GET_SUBSCRIBER_DATA = 35, GET_NEW_DESTINATION = 10"),
        (
            "pgbench",
            {"name": "r", "tool": "pgbench", "script": "select-only", "query_mode": "simple", "scale": "5"},
            "5",
        ),
    ],
)
def test_the_page_of_a_workload_tells_its_parameters_in_full(author, kind, typed, value):
    author.post(add(kind), typed)
    page = author.get(reverse("workload", args=[Workload.objects.get().pk]))
    assertContains(page, f"<dd>{value}")
    assertContains(page, "Revise")
    assertNotContains(page, "Other revisions")
    assertNotContains(page, "SHA-256")


@pytest.mark.whole
@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_the_page_of_a_workload_fits_a_telephone(page):
    sign_in(page)
    script = {"text": "SELECT " + "abalance, " * 40 + "x" * 200 + ";", "weight": 2}
    made = Workload.objects.create(
        name="own " * 20, tool="pgbench", parameters={"script": "custom", "scale": 1, "scripts": [script]}
    )
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(reverse("workload", args=[made.pk]))
    assert page.get_by_role("region", name="Script 1").inner_text().startswith("SELECT abalance")
    assert not is_too_wide(page)
