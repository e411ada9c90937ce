"""The scopes that an operation requires of its caller."""

import msgspec

from stead.shared.scopes import CATALOG


class Requirement(msgspec.Struct, frozen=True):
    """The scopes that a credential needs: all of them, or with `any_one` one of them. None if `public`."""

    scopes: tuple[str, ...] = ()
    any_one: bool = False
    public: bool = False

    def missing(self, allowed: frozenset[str]) -> str | None:
        """The missing scope, for an error message, or None if nothing is missing."""
        missing = [scope for scope in self.scopes if scope not in allowed]
        if not missing or (self.any_one and len(missing) < len(self.scopes)):
            return None
        return " or ".join(missing) if self.any_one else missing[0]


PUBLIC = Requirement(public=True)
ANY_CREDENTIAL = Requirement()


def requirement(scope: str | tuple[str, ...] | Requirement) -> Requirement:
    """Parse `"a"`, `("a", "b")` for both, or `"a|b"` for either. A Requirement is returned unchanged."""
    if isinstance(scope, Requirement):
        return scope
    if isinstance(scope, tuple):
        parsed = Requirement(scope)
    else:
        alternatives = tuple(scope.split("|"))
        parsed = Requirement(alternatives, any_one=len(alternatives) > 1)
    unknown = [name for name in parsed.scopes if name not in CATALOG]
    if unknown or not parsed.scopes:
        raise TypeError(f"not in the scope catalog: {unknown or scope!r}")
    return parsed
