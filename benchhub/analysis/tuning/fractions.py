"""Fractional factorial designs of two levels, 2^(k-p): generators, resolution and aliases.

A set of factors is a number whose bits are the factors, so that a product of effects is an exclusive or. The generators
are those of the textbooks (Box, Hunter and Hunter 2005; Montgomery 2017, appendix). Of each family of fractions the one
is taken that holds the treatment in which nothing is changed: a word of k letters has the sign (-1)^k there, which
changes no alias but its sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import xor

# Textbooks leave out I, which stands for the identity there.
LETTERS = "ABCDEFGHJKLM"
MOST_FACTORS = len(LETTERS)
MOST_TREATMENTS = 32
CLEAR_RESOLUTION = 4
ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
# By the number of treatments, then of factors: each generated factor as a product of those before.
GENERATORS: Mapping[int, Mapping[int, str]] = {
    4: {3: "AB"},
    8: {4: "ABC", 5: "AB AC", 6: "AB AC BC", 7: "AB AC BC ABC"},
    16: {
        5: "ABCD",
        6: "ABC BCD",
        7: "ABC BCD ACD",
        8: "BCD ACD ABC ABD",
        9: "ABC BCD ACD ABD ABCD",
        10: "ABC BCD ACD ABD ABCD AB",
        11: "ABC BCD ACD ABD ABCD AB AC",
        12: "ABC ABD ACD BCD ABCD AB AC AD",
    },
    32: {
        6: "ABCDE",
        7: "ABCD ABDE",
        8: "ABC ABD BCDE",
        9: "BCDE ACDE ABDE ABCE",
        10: "ABCD ABCE ABDE ACDE BCDE",
        11: "ABC BCD CDE ACD ADE BDE",
        12: "ACE ACD ABD ABE CDE ABCDE ADE",
    },
}


class FractionError(ValueError):
    """Raised for a design that there is not; the message says what there is."""


@dataclass(frozen=True, slots=True)
class Alias:
    """An effect that moves the same runs as another: `sign` is -1 where it moves them the other way."""

    factors: tuple[int, ...]
    sign: int

    @property
    def order(self) -> int:
        return len(self.factors)


@dataclass(frozen=True, slots=True)
class Fraction:
    """A design of `size` treatments of so many factors; `generators` are sets of the factors that come first."""

    factors: int
    size: int
    generators: tuple[int, ...]

    @property
    def base(self) -> int:
        """Return how many factors are varied freely; the others follow from them."""
        return self.size.bit_length() - 1

    @property
    def treatments(self) -> list[frozenset[int]]:
        """Return the factors (from 0) that each treatment changes, in standard order: the first changes none."""
        return [self._treatment(number) for number in range(self.size)]

    def _treatment(self, number: int) -> frozenset[int]:
        generated = [
            place for place, word in enumerate(self.generators, start=self.base) if (number & word).bit_count() % 2
        ]
        return frozenset([*_places(number), *generated])

    @property
    def words(self) -> tuple[int, ...]:
        """Return the words of the defining relation, the shortest first; none of a full factorial."""
        words = [word | 1 << place for place, word in enumerate(self.generators, start=self.base)]
        products = [
            reduce(xor, chosen_words)
            for number in range(1, len(words) + 1)
            for chosen_words in combinations(words, number)
        ]
        return tuple(sorted(products, key=lambda word: (word.bit_count(), _places(word))))

    @property
    def resolution(self) -> int | None:
        """Return the length of the shortest word: from 4 on no two-factor interaction is mixed with a factor.

        None for a full factorial, in which nothing is mixed.
        """
        return self.words[0].bit_count() if self.words else None

    def aliases(self, factors: Iterable[int], highest_order: int = 2) -> list[Alias]:
        """Return the effects of up to so many factors that cannot be told from the effect of these."""
        effect = sum(1 << place for place in factors)
        mixed = [(effect ^ word, -1 if word.bit_count() % 2 else 1) for word in self.words]
        aliases = [Alias(_places(bits), sign) for bits, sign in mixed if bits.bit_count() <= highest_order]
        return sorted(aliases, key=lambda alias: (alias.order, alias.factors))

    def interactions(self) -> list[tuple[int, int]]:
        """Return one pair for each set of two-factor interactions that move the same runs, but no factor's."""
        pairs, covered = [], set[tuple[int, ...]]()
        for pair in combinations(range(self.factors), 2):
            aliases = self.aliases(pair)
            if pair not in covered and not any(alias.order == 1 for alias in aliases):
                pairs.append(pair)
            covered |= {alias.factors for alias in aliases}
        return pairs

    @property
    def title(self) -> str:
        """Write it as textbooks do: 2^(5-1), resolution V; or 2^3, full."""
        if self.resolution is None:
            return f"2^{self.factors}, full"
        return f"2^({self.factors}-{len(self.generators)}), resolution {ROMAN[self.resolution]}"


def fraction(factors: int, size: int | None = None) -> Fraction:
    """Return the design of so many factors in so many treatments; None chooses the smallest of resolution IV.

    Raises FractionError.
    """
    if not 2 <= factors <= MOST_FACTORS:
        raise FractionError(f"A factorial design has 2 to {MOST_FACTORS} steps, and these are {factors}.")
    designs = {design.size: design for design in fractions(factors)}
    if size is None:
        return next(design for design in designs.values() if (design.resolution or MOST_FACTORS) >= CLEAR_RESOLUTION)
    if size not in designs:
        sizes = ", ".join(map(str, designs))
        raise FractionError(f"There is no design of {factors} steps in {size} treatments: choose one of {sizes}.")
    return designs[size]


def fractions(factors: int) -> Iterator[Fraction]:
    """Yield the designs that there are of so many factors, the smallest first."""
    for size in sorted({*GENERATORS, 2**factors}):
        if size == 2**factors <= MOST_TREATMENTS:
            yield Fraction(factors, size, ())
        elif text := GENERATORS.get(size, {}).get(factors):
            yield Fraction(factors, size, tuple(map(_bits, text.split())))


def name(factors: Iterable[int]) -> str:
    """Write an effect by the letters of its factors: AC."""
    return "".join(LETTERS[place] for place in factors)


def _bits(word: str) -> int:
    return sum(1 << LETTERS.index(letter) for letter in word)


def _places(bits: int) -> tuple[int, ...]:
    return tuple(place for place in range(bits.bit_length()) if bits >> place & 1)
