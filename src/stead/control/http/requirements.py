"""What an operation asks of its caller, written once in its declaration."""

import msgspec

from stead.shared.scopes import CATALOG


class Requirement(msgspec.Struct, frozen=True):
    """Scopes that a credential needs, all of them or any one; none at all when `public`."""

    scopes: tuple[str, ...] = ()
    any_one: bool = False
    public: bool = False

    def missing(self, allowed: frozenset[str]) -> str | None:
        """What is lacking, in words, or None when nothing is."""
        lacking = [scope for scope in self.scopes if scope not in allowed]
        if not lacking or (self.any_one and len(lacking) < len(self.scopes)):
            return None
        return " or ".join(lacking) if self.any_one else lacking[0]


PUBLIC = Requirement(public=True)
ANY_CREDENTIAL = Requirement()


def requirement(scope: str | tuple[str, ...] | Requirement) -> Requirement:
    """`"a"`, `("a", "b")` for both, `"a|b"` for either, or one of the two constants above."""
    if isinstance(scope, Requirement):
        return scope
    if isinstance(scope, tuple):
        wanted = Requirement(scope)
    else:
        alternatives = tuple(scope.split("|"))
        wanted = Requirement(alternatives, any_one=len(alternatives) > 1)
    unknown = [name for name in wanted.scopes if name not in CATALOG]
    if unknown or not wanted.scopes:
        raise TypeError(f"not in the scope catalog: {unknown or scope!r}")
    return wanted
