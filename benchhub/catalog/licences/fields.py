"""The labels and groups of a licence model's parameters in its form; the names are the engine's."""

from __future__ import annotations

from benchhub.ui.row_cells import day, number, text, whole

LABELS = {
    "exempt_roles": ("Roles that need none", "Apart by commas: standby, pooler."),
    "counts_disabled_cores": ("Cores disabled in firmware count", "Some vendors count every core of the chip."),
    "cores_per_licence": ("Cores that a socket's licence covers", "0 or empty: all of them."),
    "sockets_per_licence": ("Sockets that a licence covers", "2 where licences are sold for pairs of sockets."),
    "vcpus_per_licence_smt": ("vCPUs per licence, SMT on", "Often 2: two threads are one core."),
    "vcpus_per_licence_no_smt": ("vCPUs per licence, SMT off", ""),
    "memory_block_gb": ("GB that a licence covers", "64 where licences are sold for blocks of 64 GB."),
    "counts_vm_memory": ("Memory of the virtual machine counts", "Otherwise that of the machine as bought."),
    "users_per_processor": ("Users per processor at least", "0 or empty: no minimum."),
    "user_processor": ("A processor is", "What the minimum of users is counted by."),
    "minimum_per_socket": ("At least per socket", ""),
    "minimum_per_server": ("At least per server", ""),
    "minimum_per_vm": ("At least per virtual machine", ""),
    "minimum_per_order": ("At least per order", ""),
    "maximum_per_socket": ("Paid at most per socket", "What is beyond it comes with it; 0 or empty: no maximum."),
    "maximum_per_server": ("Paid at most per server", ""),
    "maximum_per_order": ("Paid at most per order", ""),
    "pack": ("Units in a pack", "Licences are sold in whole packs."),
    "packs_pooled_per": ("Packs are filled per", "Order: what one server leaves of a pack serves another."),
    "is_price_per_pack": ("The list price is of a pack", "Otherwise of one unit."),
    "factor_rounded_per": ("Factors are rounded up per", "After summing."),
    "max_sockets": ("Sockets at most", "Of one server; beyond, the licence cannot be bought."),
    "max_cores": ("Physical cores at most", "Of one server."),
    "max_vcpus": ("vCPUs at most", "Of one server."),
    "max_memory_gb": ("GB of memory at most", "Of one server."),
    "max_servers": ("Servers at most", "Of the order."),
    "max_users": ("Named users at most", "Of the order."),
    "payment": ("Paid", ""),
    "period": ("Subscribed by the", "The list price is of one."),
    "yearly_uplift_percent": ("Dearer each year, %", "Than the year before."),
    "support_percent": ("Support, % a year", "Of the price of the licences."),
    "support_on": ("Support is on the", ""),
    "is_first_year_included": ("First year of support included", ""),
    "hours_per_month": ("Hours in a month", "730: a year of 8,760 hours."),
    "utilisation_percent": ("Hours in use, %", ""),
    "reserved_years": ("Reserved for years", "1, 2 or 3; paid whether used or not."),
    "reserved_percent_off": ("Off when reserved, %", ""),
    "reserved_upfront": ("Extra upfront, per unit", "Once in each reservation."),
    "reserved_upfront_percent": ("Of it paid upfront, %", ""),
    "discount_percent": ("Discount, %", "Off the list price, kept apart from it."),
    "contracted_price": ("Contracted price", "Of one unit, instead of the list price."),
    "tiers_apply": ("Tiers hold for", ""),
}
GROUPS = {
    "What is counted": [
        "sockets_per_licence", "cores_per_licence", "counts_disabled_cores", "vcpus_per_licence_smt",
        "vcpus_per_licence_no_smt", "memory_block_gb", "counts_vm_memory", "users_per_processor", "user_processor",
        "exempt_roles",
    ],
    "Minimums, maximums and packs": [
        "minimum_per_socket", "minimum_per_server", "minimum_per_vm", "minimum_per_order", "maximum_per_socket",
        "maximum_per_server", "maximum_per_order", "pack", "packs_pooled_per", "is_price_per_pack",
    ],
    "Core factors": ["factors", "factor_rounded_per"],
    "Who it is for": ["max_sockets", "max_cores", "max_vcpus", "max_memory_gb", "max_servers", "max_users"],
    "Term": [
        "payment", "period", "yearly_uplift_percent", "support_percent", "support_on", "is_first_year_included",
        "hours_per_month", "utilisation_percent", "reserved_years", "reserved_percent_off", "reserved_upfront",
        "reserved_upfront_percent",
    ],
    "Price and tiers": ["discount_percent", "contracted_price", "tiers", "tiers_apply"],
}  # fmt: skip
WORDS_OF_CHOICES = {
    "user_processor": (("socket", "socket"), ("core", "core")),
    "factor_rounded_per": (("server", "server"), ("order", "order")),
    "packs_pooled_per": (("server", "server"), ("order", "order")),
    "tiers_apply": (("graduated", "each unit by its own tier"), ("all_units", "all units by the tier reached")),
    "payment": (("subscription", "as a subscription"), ("perpetual", "once, for good"), ("hourly", "by the hour")),
    "period": (("year", "year"), ("month", "month")),
    "support_on": (("list", "list price"), ("discounted", "discounted price")),
}
FACTOR = (
    text("processor", "Processor family", 80),
    number("factor", "Factor", places=6, least=0, is_required=True),
    day("since", "Since"),
)
TIER = (
    whole("from_units", "From units", least=1, is_required=True),
    number("price", "Price of one", places=8, least=0),
    number("percent_off", "Or % off", places=6, least=0, most=100),
)
