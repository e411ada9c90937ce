"""Small charts: as wide as asked for, and nothing that happened is invisible."""

from stead_cli.charts import bars


def test_a_bar_is_as_high_as_its_value():
    assert bars([0, 1, 2, 4, 8], 80) == "▁▂▃▅█"
    assert bars([], 80) == ""
    assert bars([0, 0], 80) == "▁▁"


def test_more_values_than_columns_share_one():
    assert len(bars(list(range(1000)), 40)) == 40
    assert bars([0, 9, 0, 0], 2) == "█▁", "the highest of each"


def test_little_is_more_than_nothing_and_unknown_is_a_gap():
    assert bars([1, 1000], 80) == "▂█"
    assert bars([None, 1, None], 80) == " █ "
