"""The rules of a static site: `_redirects`, `_headers` and `stead.json` in its output folder."""
