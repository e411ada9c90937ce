"""The program `stead`. The version and the first page of help are shown before anything is imported."""

import os
import sys

from stead_cli import __version__


def main() -> None:
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        sys.stdout.write(f"stead {__version__}\n")
        return
    # A shell that wants completions gives no arguments: they are in variables.
    if arguments in ([], ["--help"], ["-h"], ["help"]) and "_STEAD_COMPLETE" not in os.environ:
        from stead_cli.overview import overview

        sys.stdout.write(overview())
        return
    from stead_cli.run import run

    sys.exit(run(arguments))


if __name__ == "__main__":
    main()
