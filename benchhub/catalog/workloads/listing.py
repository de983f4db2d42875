"""The list of workloads: how it is sorted, searched and filtered, by the parameters that load generators name."""

from __future__ import annotations

from django.db.models import Q

from benchhub.ui.listing import Column, Filter
from runners import tools


def workload_columns() -> tuple[Column, ...]:
    """Return the columns, sorted across load generators by the parameters that each names."""
    sizes = [f"parameters__{tool.size_parameter}" for tool in tools.TOOLS.values() if tool.size_parameter]
    return (
        Column("name", "Workload", ("name", "-revision")),
        Column("tool", "Load generator", ("tool", "name")),
        Column("script", "Script or mix", (*_load_lookups(), "name")),
        Column("mode", "Query mode", ("parameters__query_mode", "name")),
        Column("scale", "Size", (*dict.fromkeys(sizes), "name"), is_number=True),
        Column("remark", "Remark"),
        Column("actions", "Change"),
    )


def searched_fields() -> tuple[str, ...]:
    """Return the lookups that the search box looks at."""
    return ("name", "tool", *_load_lookups(), "remark")


def workload_filters() -> tuple[Filter, Filter]:
    """Return the filters by load generator and by script or mix."""
    loads: dict[str, Q] = {}
    for name, tool in tools.TOOLS.items():
        for load in tool.loads:
            is_load = Q(tool=name, **{f"parameters__{tool.load_parameter}": load})
            loads[load] = loads[load] | is_load if load in loads else is_load
    return (
        Filter("tool", "Load generator", {name: (name, Q(tool=name)) for name in tools.TOOLS}),
        Filter("script", "Script or mix", {load: (load, condition) for load, condition in loads.items()}),
    )


def _load_lookups() -> tuple[str, ...]:
    names = (tool.load_parameter for tool in tools.TOOLS.values() if tool.load_parameter)
    return tuple(dict.fromkeys(f"parameters__{name}" for name in names))
