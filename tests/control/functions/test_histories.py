"""The checks of histories find what is wrong in them."""

from tests.control.functions.histories import (
    CounterRead,
    Holding,
    Increment,
    Read,
    Write,
    check_counter,
    check_key,
    check_lock,
)


def test_a_counter_is_in_order_or_not() -> None:
    one, two = Increment(0, 1, 1), Increment(2, 3, 2)
    assert check_counter([one, two], [CounterRead(1.5, 2.5, 1)], 2) == []
    assert check_counter([one, two], [CounterRead(4, 5, 1)], 2)
    assert check_counter([Increment(0, 1, 2), Increment(2, 3, 1)], [], 2)
    assert check_counter([one, Increment(2, 3, 1)], [], 2)
    assert check_counter([one, two], [], 1)
    assert check_counter([one, Increment(0, 1, 2)], [], 2) == []


def test_what_nobody_was_told_may_have_happened_after_it_began() -> None:
    seen = Increment(2, 3, 2)
    assert check_counter([Increment(1), seen], [], 2) == []
    assert check_counter([Increment(4), seen], [], 2)
    assert check_counter([seen], [], 2)
    assert check_counter([Increment(0), Increment(0, 1, 1)], [], 1) == []


def test_a_revision_is_replaced_once() -> None:
    first, second = Write(0, "a", 0, 1, 5), Write(2, "b", 5, 3, 9)
    assert check_key([first, second], [Read(4, 5, 9, "b")]) == []
    assert check_key([first, second], [Read(4, 5, 5, "a")])
    assert check_key([first, Write(2, "b", 0, 3, 9)], [])
    assert check_key([first, second, Write(2, "c", 5, 3, 12)], [])
    assert check_key([first], [Read(2, 3, 5, "x")])
    assert check_key([first, Write(2, "b", 5)], [Read(3, 4, 7, "b")]) == []
    assert check_key([first, Write(2, "b", 5, 3, is_refused=True)], [])
    assert check_key([first, Write(2, "b", 5, 3, is_refused=True), Write(1, "c", 5)], []) == []


def test_a_lock_has_one_owner_at_a_time() -> None:
    first = Holding(0, 1, 3, released=2)
    assert check_lock([first, Holding(1, 3, 8, released=4)]) == []
    assert check_lock([first, Holding(0, 1.5, 8, released=4)])
    assert check_lock([first, Holding(5, 6, 2, released=7)])
