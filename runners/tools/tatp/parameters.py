"""TATP's parameters: what a workload may ask for, and what it needs loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from runners.contract import RunSpec
from runners.tools.kinds import Description
from runners.tools.pgbench.parameters import version_of

# The seven transactions in the order of the definition, which is that of the scripts on the command line.
TRANSACTIONS = (
    "GET_SUBSCRIBER_DATA",
    "GET_NEW_DESTINATION",
    "GET_ACCESS_DATA",
    "UPDATE_SUBSCRIBER_DATA",
    "UPDATE_LOCATION",
    "INSERT_CALL_FORWARDING",
    "DELETE_CALL_FORWARDING",
)
# Those that may be refused: accepted failures, rolled back.
ACCEPTING = (3, 5, 6)
Weights = tuple[int, int, int, int, int, int, int]
MIXES: Mapping[str, Weights] = MappingProxyType(
    {
        "80/20": (35, 10, 35, 2, 14, 2, 2),
        "R100": (44, 12, 44, 0, 0, 0, 0),
        "5050": (22, 6, 22, 4, 38, 4, 4),
        "2080": (8, 4, 8, 8, 56, 8, 8),
        "W100": (0, 0, 0, 8, 76, 8, 8),
    }
)
CUSTOM_MIX = "custom"
DEFINITION, ORIGINAL_TOOL = "definition", "original-tool"
# How long after its start a populated forwarding ends at most: the original tool adds three times what is defined.
LONGEST_FORWARDING = {DEFINITION: 8, ORIGINAL_TOOL: 24}
NON_UNIFORM, UNIFORM = "non-uniform", "uniform"
UNIFORM_KEYS = "uniform keys"
FEWEST_SUBSCRIBERS, MOST_SUBSCRIBERS = 1_000, 100_000_000
MOST_CLIENTS = 100_000
HIGHEST_SEED = 2**31 - 1
HIGHEST_WEIGHT = 10_000
# What marks the outcome of a statement in a script: \aset.
OLDEST_PGBENCH = (13,)


@dataclass(frozen=True, slots=True)
class Parameters:
    """TATP's parameters. `population` is the rule of end times, `weights` goes with the mix "custom" alone.

    Of the data set: `subscribers`, `seed` and `population`. Of the load: the rest.
    """

    subscribers: int = 100_000
    seed: int = 1
    population: str = DEFINITION
    mix: str = "80/20"
    weights: Mapping[str, int] | None = None
    keys: str = NON_UNIFORM

    @property
    def weighed(self) -> Weights:
        """Return the weights of the seven transactions, in their order."""
        if self.weights is None:
            return MIXES[self.mix]
        get, new, access, update, location, insert, delete = (self.weights.get(name, 0) for name in TRANSACTIONS)
        return get, new, access, update, location, insert, delete

    @property
    def or_mask(self) -> int:
        """Return A of the non-uniform random numbers, by the number of subscribers."""
        if self.subscribers <= 1_000_000:
            return 65_535
        return 1_048_575 if self.subscribers <= 10_000_000 else 2_097_151


FIELDS = {field.name: field for field in fields(Parameters)}
DATA_SET_FIELDS = ("subscribers", "seed", "population")
CHOICES = {
    "population": (DEFINITION, ORIGINAL_TOOL),
    "mix": (*MIXES, CUSTOM_MIX),
    "keys": (NON_UNIFORM, UNIFORM),
}
RANGES = {"subscribers": (FEWEST_SUBSCRIBERS, MOST_SUBSCRIBERS), "seed": (0, HIGHEST_SEED)}


def read(parameters: Mapping[str, Any]) -> Parameters:
    """Return the parameters, checked one by one and together. Raises ValueError with one sentence."""
    unknown = sorted(set(parameters) - set(FIELDS))
    if unknown:
        raise ValueError(f"TATP has no parameter {unknown[0]!r}; it has: {', '.join(FIELDS)}.")
    checked = Parameters(**parameters)
    for name, (lowest, highest) in RANGES.items():
        _check_whole(f"TATP's {name}", getattr(checked, name), lowest, highest)
    for name, choices in CHOICES.items():
        if getattr(checked, name) not in choices:
            names = ", ".join(choices)
            raise ValueError(f"{getattr(checked, name)!r} is no {name} of TATP; choose one of: {names}.")
    _check_weights(checked)
    return checked


def _check_whole(subject: str, value: Any, lowest: int, highest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise ValueError(f"{subject} must be a whole number from {lowest:,} to {highest:,}, not {value!r}.")


def _check_weights(parameters: Parameters) -> None:
    if (parameters.mix == CUSTOM_MIX) != (parameters.weights is not None):
        raise ValueError('Weights go with the mix "custom", which needs them; the other mixes have their own.')
    if parameters.weights is None:
        return
    if not isinstance(parameters.weights, Mapping):
        raise ValueError("The weights of a custom mix must be given by the name of the transaction.")
    for name, weight in parameters.weights.items():
        if name not in TRANSACTIONS:
            raise ValueError(f"TATP has no transaction {name!r}; it has: {', '.join(TRANSACTIONS)}.")
        _check_whole(f"The weight of {name}", weight, 0, HIGHEST_WEIGHT)
    if not any(parameters.weighed):
        raise ValueError("A mix needs at least one transaction with a weight above 0.")


def in_full(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return these parameters in words, with the defaults of those left out, and how statements are sent."""
    checked = read(parameters)
    keys_text = f"{checked.keys}, A = {checked.or_mask:,}: ((random(0, A) | random(1, N)) % N) + 1 of N subscribers"
    ends = f"{checked.population}: end 1 to {LONGEST_FORWARDING[checked.population]} hours after their start"
    return {
        **{name: getattr(checked, name) for name in FIELDS if name != "population"},
        "call_forwardings": ends,
        "weights": dict(zip(TRANSACTIONS, checked.weighed, strict=True)),
        "keys": keys_text if checked.keys == NON_UNIFORM else checked.keys,
        "query_mode": "prepared",
    }


def describe(parameters: Mapping[str, Any]) -> Description:
    """Return the workload in words; weights of a custom mix in the order of the transactions."""
    weights, subscribers = parameters.get("weights") or {}, parameters.get("subscribers")
    has_uniform_keys = parameters.get("keys") == UNIFORM
    peculiarities = {
        "/".join(str(weights.get(name, 0)) for name in TRANSACTIONS): bool(weights),
        UNIFORM_KEYS: has_uniform_keys,
        "forwardings last 1 to 24 hours": parameters.get("population") == ORIGINAL_TOOL,
        f"seed {parameters.get('seed')}": "seed" in parameters,
    }
    return Description(
        load=str(parameters.get("mix") or ""),
        size=f"{subscribers:,} subscribers" if subscribers is not None else "",
        query_mode="prepared",
        peculiarities=tuple(text for text, is_so in peculiarities.items() if is_so),
        label_note=UNIFORM_KEYS if has_uniform_keys else "",
    )


def check(spec: RunSpec) -> Parameters:
    """Return the run's parameters. Raises ValueError, with one sentence, for a run that cannot be."""
    if version_of(spec.tool_version) < OLDEST_PGBENCH:
        raise ValueError(f"TATP needs pgbench 13 or newer; {spec.tool_version} cannot tell whether a row was found.")
    parameters = read(spec.parameters)
    if spec.kind == "measure":
        _check_level(spec)
    return parameters


def _check_level(spec: RunSpec) -> None:
    if not 1 <= spec.clients < MOST_CLIENTS:
        raise ValueError(f"A run of TATP needs 1 to {MOST_CLIENTS - 1:,} clients, not {spec.clients}.")
    if not 1 <= spec.threads <= spec.clients:
        raise ValueError(f"The threads must be between 1 and the clients ({spec.clients}), not {spec.threads}.")
    if spec.duration_s < 1 or spec.warmup_s < 0:
        raise ValueError("A run of TATP must take at least 1 second, and its warm-up none or more.")
    if not 0 < spec.log_sampling_rate <= 1:
        raise ValueError("TATP needs its log: the share of logged transactions must be above 0 and at most 1.")


def data_set(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recipe of the data set: tool and size, and anything else that is not the default."""
    checked = read(parameters)
    recipe: dict[str, Any] = {"tool": "tatp", "subscribers": checked.subscribers}
    for name in DATA_SET_FIELDS[1:]:
        if getattr(checked, name) != FIELDS[name].default:
            recipe[name] = getattr(checked, name)
    return recipe
