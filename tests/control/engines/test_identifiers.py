"""Columns that hold ids."""

from stead.control.app import ControlPlane


async def test_ids_have_one_collation_so_that_every_join_can_use_an_index(plane: ControlPlane):
    async with plane.database.reading() as tx:
        others = await tx.all(
            str,
            "select table_name || '.' || column_name from information_schema.columns"
            " where table_schema = 'public' and data_type = 'text' and collation_name is distinct from 'C'"
            r" and (column_name = 'id' or column_name like '%\_id')",
        )
    assert others == []
