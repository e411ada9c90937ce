"""Migrates a database to this version of Stead. Migrations are forward only."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy.engine import make_url

_PACKAGED = Path(__file__).parents[2] / "migrations"
_CHECKOUT = Path(__file__).parents[4] / "migrations"


def migrate(database_url: str, revision: str = "head") -> None:
    config = Config()
    config.set_main_option("script_location", str(_PACKAGED if _PACKAGED.is_dir() else _CHECKOUT))
    config.attributes["url"] = make_url(database_url).set(drivername="postgresql+asyncpg")
    command.upgrade(config, revision)
