"""From a comparison to a page that others may see: document -> snapshot -> projection -> link -> page and exports.

`comparison*` and `published` write documents (analysis.snapshot); `publish` freezes one and makes links; `pages` shows
it to people who sign in, `shared` to whoever has a link; `render` and `exports` turn it into HTML, PDF, CSV and JSON.
"""
