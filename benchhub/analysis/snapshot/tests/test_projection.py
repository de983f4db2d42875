import json
from textwrap import wrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.snapshot import canonical, nodes
from benchhub.analysis.snapshot.projection import CLASSES, project


def document(*blocks, tables=(), names=()):
    return {
        "format": canonical.FORMAT,
        "version": canonical.VERSION,
        "kind": "comparison",
        "title": "16 and 18 on db1",
        "summary": "18 on db1 is faster.",
        "taken_at": "2026-06-30T10:00:00+00:00",
        "release": "0.1.0",
        "unit": "TPS",
        "sections": [nodes.section("found", "What was found on db1", blocks)],
        "tables": list(tables),
        "names": [nodes.name("host", "db1", "host A"), nodes.name("host", "db1.example.org", "host A"), *names],
        "source": {"query": "curve=1-2"},
    }


def blocks(projection):
    return projection["sections"][0]["blocks"]


def test_names_and_source_are_never_part_of_a_projection():
    projection = project(document(), ())
    assert projection.keys().isdisjoint({"names", "source"})
    assert (projection["title"], projection["hidden"]) == ("16 and 18 on db1", [])


def test_a_hidden_name_gives_way_to_its_alias_wherever_it_stands():
    columns = [nodes.column("db1, TPS"), nodes.column("Clients")]
    cell = nodes.cell("DB1", exact="1", notes=["on db1"], tags=["db1"], steps=["runs of db1.example.org"], unit="db1")
    figure = {"data": [{"type": "scatter", "name": "db1, each run", "y": [1.5]}], "layout": {"title": {"text": "db1"}}}
    data = nodes.data("systems", "db1", [nodes.data_column("db1")], [["db1"], ["on db1"]])
    full = document(
        nodes.paragraph("db1 against db1.example.org"),
        nodes.listing("db1", ["db1 is old"]),
        nodes.table("t", "db1", columns, [nodes.row([cell, nodes.cell("8")])]),
        nodes.figure("f", "db1", "db1", figure),
        tables=[data],
    )
    text = canonical.to_bytes(project(full, ["host"])).decode()
    assert "db1" not in text.lower()
    assert "example.org" not in text
    assert '"host A against host A"' in text


def test_a_number_in_a_column_of_numbers_stays_and_words_beside_it_do_not():
    columns = [nodes.column("TPS", is_number=True), nodes.column("Instance"), nodes.column("Host", is_number=True)]
    row = nodes.row([nodes.cell("10.5"), nodes.cell("10.5"), nodes.cell("db1")])
    full = document(nodes.table("t", "t", columns, [row]), names=[nodes.name("host", "10.5", "instance A")])
    [projected] = blocks(project(full, ["host"]))[0]["rows"]
    assert [cell["text"] for cell in projected["cells"]] == ["10.5", "instance A", "host A"]


def test_a_short_name_is_replaced_as_a_word_alone_and_a_long_one_everywhere():
    names = [nodes.name("vendor", "Box", "machine A"), nodes.name("vendor", "Acmecorp", "machine B")]
    full = document(nodes.paragraph("Box, Boxes, box-2, box_3, AcmecorpDB"), names=names)
    assert blocks(project(full, ["vendor"]))[0]["text"] == "machine A, Boxes, machine A-2, machine A_3, machine BDB"


def test_what_discloses_something_hidden_is_left_out_and_other_things_stay():
    full = document(
        nodes.paragraph("12% off.", about=["discount"]),
        nodes.paragraph("Everything else."),
        nodes.table(
            "t",
            "Prices",
            [nodes.column("System"), nodes.column("Discount", about=["discount"])],
            [
                nodes.row([nodes.cell("a", steps=["less 12%"], steps_about=["discount"]), nodes.cell("12%")]),
                nodes.row([nodes.cell("b", about=["discount"]), nodes.cell("12%")]),
                nodes.row([nodes.cell("c"), nodes.cell("12%")], about=["discount"]),
            ],
        ),
        tables=[
            nodes.data(
                "prices", "Prices", [nodes.data_column("a"), nodes.data_column("b", "%", ["discount"])], [["1", "12"]]
            )
        ],
    )
    projection = project(full, ["discount"])
    assert "12" not in canonical.to_bytes({**projection, "taken_at": ""}).decode()
    paragraph, table = blocks(projection)
    assert paragraph["text"] == "Everything else."
    assert [[cell["text"] for cell in row["cells"]] for row in table["rows"]] == [["a"], ["hidden"]]
    assert [column["title"] for column in table["columns"]] == ["System"]
    assert projection["tables"][0]["rows"] == [["1"]]


def test_nothing_is_left_out_of_what_nobody_hides():
    full = document(nodes.paragraph("12% off on db1.", about=["discount"]))
    assert blocks(project(full, ["vendor"]))[0]["text"] == "12% off on db1."


def test_what_this_release_does_not_know_is_not_shown():
    strange = {"kind": "film", "text": "db1"}
    full = document(nodes.paragraph("secret", about=["salary"]), strange, {**nodes.paragraph("x"), "comment": "secret"})
    assert blocks(project(full, ())) == [{"kind": "paragraph", "role": "plain", "text": "x"}]
    assert "secret" not in json.dumps(project({**full, "salary": "secret"}, ()))


def test_addresses_are_found_even_where_nobody_named_them():
    full = document(nodes.paragraph("From 192.0.2.7:5432 and 2001:db8:0:1::7, with 1.25 and 16.4 at 10:05:33"))
    text = blocks(project(full, ["address"]))[0]["text"]
    assert text == "From hidden and hidden, with 1.25 and 16.4 at 10:05:33"


def test_a_number_stays_one_whatever_a_host_is_called():
    names = [nodes.name("host", "1000", "host B")]
    data = nodes.data("levels", "Levels", [nodes.data_column("median", "TPS")], [["1000"], ["host 1000"]])
    projection = project(document(tables=[data], names=names), ["host"])
    assert projection["tables"][0]["rows"] == [["1000"], ["host host B"]]


def test_there_is_nothing_to_hide_of_an_unknown_name():
    with pytest.raises(ValueError, match="nothing to hide of the name salary"):
        project(document(), ["salary"])


@given(
    hidden=st.sets(st.sampled_from(sorted(CLASSES))),
    text=st.text(st.characters(exclude_categories=("L", "N", "P", "M", "Cf", "Cs")), max_size=40),
)
def test_no_class_that_is_hidden_leaves_a_name_of_its_own(hidden, text):
    names = [nodes.name(fact_class, f"secret-{fact_class}", f"{fact_class} A") for fact_class in CLASSES]
    sentence = text.join(f"secret-{fact_class}" for fact_class in CLASSES)
    projected_text = blocks(project(document(nodes.paragraph(sentence), names=names), hidden))[0]["text"]
    assert [fact_class for fact_class in CLASSES if f"secret-{fact_class}" in projected_text] == [
        fact_class for fact_class in CLASSES if fact_class not in hidden
    ]


LICENCE = "PostgresPURE, per socket-and-core"


@given(width=st.integers(1, 40))
def test_a_name_is_hidden_however_the_label_of_a_figure_breaks_it(width):
    labels = ["<br>".join(wrap(LICENCE, width)), LICENCE.replace(", ", "<br>"), LICENCE.replace(" ", "\n").upper()]
    figure = {"data": [{"type": "bar", "y": [f"16.4<br>{label}" for label in labels]}], "layout": {}}
    names = [nodes.name("vendor", LICENCE, "licence A")]
    projection = project(document(nodes.figure("f", "Bars", "Bars", figure), names=names), ["vendor"])
    assert blocks(projection)[0]["plotly"]["data"][0]["y"] == ["16.4<br>licence A"] * 3


def test_a_name_is_hidden_in_files_that_quote_it():
    name = 'Müller\'s "Big" \\ Box'
    spellings = [json.dumps(name, ensure_ascii=False), name.replace("'", "''"), name]
    bundle = nodes.bundle("repeat-1", "Repeat", {"a.txt": "|".join(spellings)})
    full = {**document(names=[nodes.name("vendor", name, "machine A")]), "bundles": [bundle]}
    [file] = project(full, ["vendor"])["bundles"][0]["files"]
    assert file["text"] == '"machine A"|machine A|machine A'


def test_names_that_differ_in_their_spaces_are_both_hidden():
    names = [nodes.name("vendor", "Big Box 9", "machine A"), nodes.name("vendor", "BigBox 9", "machine B")]
    text = blocks(project(document(nodes.paragraph("Big Box 9, BigBox 9"), names=names), ["vendor"]))[0]["text"]
    assert "ig" not in text and text.count("machine") == 2


def test_each_projection_has_bytes_and_a_digest_of_its_own():
    full = document(nodes.paragraph("db1"))
    digests = {canonical.digest(canonical.to_bytes(project(full, hidden))) for hidden in ((), ("host",), ("vendor",))}
    assert len(digests) == 3
