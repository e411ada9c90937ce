"""The users of WordPress sites."""

from stead.control.cms_users import operations
from stead.control.feature import Feature

FEATURE = Feature(name="cms_users", operations=[operations.operation], id_prefixes={"user_id": ""})
