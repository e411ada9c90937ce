"""Runs the migrations over the same driver that the programs use."""

import asyncio

from alembic import context
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import create_async_engine


def run(connection: Connection) -> None:
    context.configure(connection=connection, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()


async def main() -> None:
    engine = create_async_engine(context.config.attributes["url"])
    async with engine.connect() as connection:
        # Two operators who migrate at once take turns.
        await connection.exec_driver_sql("select pg_advisory_lock(7318349394477056)")
        await connection.commit()
        await connection.run_sync(run)
        await connection.commit()
    await engine.dispose()


asyncio.run(main())
