"""WordPress sites."""

from stead.control.feature import Feature
from stead.control.jobs.presigning import password_context
from stead.control.sealed_columns import SealedColumn

FEATURE = Feature(
    name="wordpress",
    sealed_columns=[SealedColumn("wordpress_sites", "site_id", "admin_password", password_context)],
)
