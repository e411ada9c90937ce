"""Protected previews: the page where members of a team sign in."""

from stead.control.feature import Feature
from stead.control.previews.pages import sign_in_routes

FEATURE = Feature(name="previews", pages=sign_in_routes)
