"""Live and test mode. A test credential changes nothing outside test mode."""


class ModeBound:
    """A resource that belongs to one mode. A test credential sees only those of test mode, so it may change
    what it sees."""

    __slots__ = ()
