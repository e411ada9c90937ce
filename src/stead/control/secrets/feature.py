"""Secrets and plain variables of environments."""

from stead.control.feature import Feature
from stead.control.jobs.presigning import secret_context
from stead.control.sealed_columns import SealedColumn
from stead.control.secrets import operations

FEATURE = Feature(
    name="secrets",
    operations=[operations.operation],
    sealed_columns=[SealedColumn("environment_secrets", "id", "sealed", secret_context)],
)
