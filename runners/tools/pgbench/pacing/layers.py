"""Each process of a load shape as a run of its own: its spec, and its summary in what all of them printed."""

from __future__ import annotations

from dataclasses import replace

from runners.contract import RunSpec

from .shape import Layer, Shape


def layer_spec(spec: RunSpec, layer: Layer) -> RunSpec:
    """Return the spec of one process, at a constant rate."""
    parameters = {name: value for name, value in spec.parameters.items() if name != "load_shape"}
    return replace(
        spec,
        parameters={**parameters, "rate_tps": layer.rate_tps},
        clients=layer.clients,
        threads=layer.threads,
        duration_s=layer.duration_s,
    )


def layer_specs(spec: RunSpec, shape: Shape) -> list[RunSpec]:
    """Return the specs of all processes of a load shape, in their order."""
    return [layer_spec(spec, layer) for layer in shape.layers(spec.clients, spec.threads)]


def at_first_rate(spec: RunSpec, shape: Shape) -> RunSpec:
    """Return the spec of all clients at the rate with which the load shape begins."""
    first = shape.segments[0]
    return layer_spec(spec, Layer(0, first.duration_s, first.rate_tps, spec.clients, spec.threads))
