"""The page that imports list prices: the text, and what becomes of each of its lines."""

from __future__ import annotations

from dataclasses import dataclass

from benchhub.analysis.words import count
from benchhub.ui.pages import Crumb, FormPage

from .price_list import PriceList, PriceListForm

INTRO = "First see what becomes of each line, then import the prices. Where one is refused, none is imported."
SHOW = "Show what becomes of each line"


@dataclass(frozen=True, kw_only=True)
class PriceListPage(FormPage):
    """The form with the lines of its text; `digest` is that of the text which they are of."""

    price_list: PriceList | None = None
    digest: str = ""


def price_list_page(form: PriceListForm, *, is_read: bool) -> PriceListPage:
    """Return the page of the form; with the lines of its text where that is a list of prices."""
    price_list = form.price_list if is_read else None
    is_ready = price_list is not None and price_list.new and not price_list.refused
    return PriceListPage(
        form=form,
        title="Import prices",
        crumb=Crumb.to("prices", "Prices"),
        intro=INTRO,
        action=f"Import {count(len(price_list.new), 'price')}" if price_list and is_ready else SHOW,
        price_list=price_list,
        digest=form.digest if is_ready else "",
    )
