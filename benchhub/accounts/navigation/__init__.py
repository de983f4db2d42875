"""The main navigation: every list, in groups, and which of them a user may open."""

from .pages import GROUPS, Group, Page, open_pages

__all__ = ["GROUPS", "Group", "Page", "open_pages"]
