"""Sharing: from a comparison to a page for others, document -> snapshot -> projection -> link -> page and files.

`document` writes documents (analysis.snapshot); `publish` freezes one and makes links; `views` show it to people who
sign in, `link_views` to whoever has a link; `output` turns it into HTML, PDF, CSV, JSON and a picture.
"""
