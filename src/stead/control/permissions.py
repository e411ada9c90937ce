"""The permission tables of `docs/security.md`, generated from the roles and the declarations."""

from collections.abc import Iterable

from stead.control.http.operations import Operation, ResourceInput
from stead.control.http.visibility import Governed
from stead.shared.roles import MASK, Role
from stead.shared.scopes import CATALOG, ISOLATED


def tables(operations: Iterable[Operation]) -> str:
    return f"\n### Scopes under each role\n\n{_masks()}\n### Operations\n\n{_operations(operations)}\n"


def _masks() -> str:
    lines = [_row("scope", *Role), _row(*["---"] * (len(Role) + 1))]
    for scope in sorted(CATALOG):
        name = f"`{scope}`" + (" (isolated)" if scope in ISOLATED else "")
        lines.append(_row(name, *("yes" if scope in MASK[role] else "" for role in Role)))
    return "\n".join(lines) + "\n"


def _operations(operations: Iterable[Operation]) -> str:
    lines = [_row("operation", "needs", "least role", "pinned key", "test key"), _row(*["---"] * 5)]
    lines += [
        _row(
            *(f"`{operation.id}`", _needs(operation), _least_role(operation)),
            *(_pinned(operation), _test(operation)),
        )
        for operation in sorted(operations, key=lambda operation: operation.id)
    ]
    return "\n".join(lines) + "\n"


def _needs(operation: Operation) -> str:
    if operation.requires.public:
        return "nothing"
    joint = " or " if operation.requires.any_one else " and "
    return joint.join(f"`{scope}`" for scope in operation.requires.scopes) or "any credential"


def _least_role(operation: Operation) -> str:
    """The lowest role that has the required scopes and is at least the declared minimum role."""
    if not any(issubclass(each.type, Governed) for each in operation.inputs_of(ResourceInput)):
        return "none: the caller's own"
    allowed = [
        role
        for role in Role
        if operation.requires.missing(MASK[role]) is None
        and (operation.role is None or role.is_at_least(operation.role))
    ]
    return allowed[-1] + (", or oneself" if operation.own_account_param else "")


def _pinned(operation: Operation) -> str:
    if operation.requires.public:
        return ""
    return "no" if operation.account_wide else "within its pin"


def _test(operation: Operation) -> str:
    if operation.requires.public:
        return ""
    return "in test mode" if operation.test_keys else "no"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
