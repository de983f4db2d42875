from __future__ import annotations

import pytest

from tests.browser import sign_in


@pytest.fixture
def tab(page):
    """A signed-in reader's."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    sign_in(page)
    return page
