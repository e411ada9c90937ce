"""Compiles the rules, in a process of its own: `compile_rules TARGET [DIRECTORY]`."""

import sys
from pathlib import Path

import msgspec

from stead.node.drivers.layout import write_file
from stead.node.scanning.yara_engine import RulesInvalid, compile_rules


def main(target: str, operator: str = "") -> str | None:
    try:
        compiled = compile_rules(Path(operator) if operator else None)
    except RulesInvalid as error:
        return str(error)
    write_file(Path(target), msgspec.msgpack.encode(compiled), mode=0o600)
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
