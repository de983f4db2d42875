from itertools import combinations

import pytest

from benchhub.analysis.tuning import fractions
from benchhub.analysis.tuning.fractions import FractionError, fraction, name

EVERY_DESIGN = [design for factors in range(2, 13) for design in fractions.fractions(factors)]


def letters(design):
    return ["".join(sorted(name(sorted(places)))) or "(1)" for places in design.treatments]


def aliases(design, effect, highest_order=2):
    places = [fractions.LETTERS.index(letter) for letter in effect]
    return {("-" if alias.sign < 0 else "") + name(alias.factors) for alias in design.aliases(places, highest_order)}


def test_a_full_factorial_has_all_treatments_in_standard_order_and_mixes_nothing():
    design = fraction(3, 8)
    assert letters(design) == ["(1)", "A", "B", "AB", "C", "AC", "BC", "ABC"]
    assert (design.resolution, design.words, design.aliases((0,)), design.title) == (None, (), [], "2^3, full")
    assert design.interactions() == [(0, 1), (0, 2), (1, 2)]


def test_half_of_four_factors_is_the_textbooks_design_of_resolution_iv():
    """Montgomery, table 8.3: the 2^(4-1) with I = ABCD is (1), ad, bd, ab, cd, ac, bc, abcd."""
    design = fraction(4, 8)
    assert letters(design) == ["(1)", "AD", "BD", "AB", "CD", "AC", "BC", "ABCD"]
    assert [name(fractions._places(word)) for word in design.words] == ["ABCD"]
    assert (design.resolution, design.title) == (4, "2^(4-1), resolution IV")
    assert aliases(design, "AB") == {"CD"}
    assert aliases(design, "AC") == {"BD"}
    assert aliases(design, "AD") == {"BC"}
    assert aliases(design, "A") == set()
    assert aliases(design, "A", highest_order=3) == {"BCD"}
    assert design.interactions() == [(0, 1), (0, 2), (0, 3)]


def test_half_of_five_factors_mixes_no_two_factor_interactions():
    """Montgomery, example 8.2: the 2^(5-1) with I = ABCDE; here its other half, I = -ABCDE, which holds (1)."""
    design = fraction(5, 16)
    assert design.resolution == 5
    assert letters(design)[:4] == ["(1)", "AE", "BE", "AB"]
    assert len(design.interactions()) == 10
    assert all(not design.aliases(pair) for pair in combinations(range(5), 2))
    assert aliases(design, "AB", highest_order=3) == {"-CDE"}


def test_a_quarter_of_six_factors_has_the_alias_structure_of_the_textbook():
    """Montgomery, table 8.8: I = ABCE = BCDF = ADEF, and so AB = CE, AC = BE, AD = EF, AE = BC = DF, AF = DE..."""
    design = fraction(6, 16)
    assert {name(fractions._places(word)) for word in design.words} == {"ABCE", "BCDF", "ADEF"}
    table = {"AB": {"CE"}, "AC": {"BE"}, "AD": {"EF"}, "AE": {"BC", "DF"}, "AF": {"DE"}, "BD": {"CF"}, "BF": {"CD"}}
    assert {pair: aliases(design, pair) for pair in table} == table
    assert [name(pair) for pair in design.interactions()] == ["AB", "AC", "AD", "AE", "AF", "BD", "BF"]


def test_seven_factors_in_eight_treatments_mix_each_factor_with_three_interactions():
    """Montgomery, table 8.14: the saturated 2^(7-4), in which A = BD = CE = FG; its signs turn where (1) is a run."""
    design = fraction(7, 8)
    assert design.resolution == 3
    assert len(design.words) == 15
    assert aliases(design, "A") == {"-BD", "-CE", "-FG"}
    assert design.interactions() == []


@pytest.mark.parametrize(
    ("factors", "size", "resolution"),
    [
        (3, 4, 3), (5, 8, 3), (6, 8, 3), (6, 32, 6), (7, 16, 4), (7, 32, 4), (8, 16, 4), (8, 32, 4), (9, 16, 3),
        (9, 32, 4), (10, 16, 3), (10, 32, 4), (11, 16, 3), (11, 32, 4), (12, 16, 3), (12, 32, 4),
    ],
)  # fmt: skip
def test_the_resolution_is_that_of_the_published_table(factors, size, resolution):
    assert fraction(factors, size).resolution == resolution


@pytest.mark.parametrize("design", EVERY_DESIGN, ids=lambda design: f"{design.factors} in {design.size}")
def test_a_design_is_balanced_holds_the_baseline_and_says_what_it_mixes(design):
    treatments = design.treatments
    assert treatments[0] == frozenset()
    assert len(set(treatments)) == design.size
    columns = {
        factors: tuple((-1) ** sum(factor not in treatment for factor in factors) for treatment in treatments)
        for order in (1, 2)
        for factors in combinations(range(design.factors), order)
    }
    assert all(sum(columns[factor,]) == 0 for factor in range(design.factors))
    for effect, column in columns.items():
        alike = {other for other, values in columns.items() if values == column and other != effect}
        turned = {other for other, values in columns.items() if tuple(-value for value in values) == column}
        aliases = design.aliases(effect)
        assert {alias.factors for alias in aliases if alias.sign > 0} == alike
        assert {alias.factors for alias in aliases if alias.sign < 0} == turned


def test_the_usual_design_is_the_smallest_that_mixes_no_factor_with_an_interaction():
    assert {factors: fraction(factors).size for factors in range(2, 13)} == {
        2: 4, 3: 8, 4: 8, 5: 16, 6: 16, 7: 16, 8: 16, 9: 32, 10: 32, 11: 32, 12: 32,
    }  # fmt: skip


@pytest.mark.parametrize(("factors", "size"), [(1, None), (13, None), (4, 32), (9, 8), (5, 12)])
def test_a_design_that_there_is_not_is_refused_with_what_there_is(factors, size):
    with pytest.raises(FractionError, match=r"(has 2 to 12 steps|choose one of)"):
        fraction(factors, size)
