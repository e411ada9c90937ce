"""Reads files that people name."""

from stead_cli.failures import USAGE, CliError


def read_file(name: str) -> str:
    try:
        with open(name, encoding="utf-8") as opened:  # noqa: PTH123 - `pathlib` takes long to import
            return opened.read()
    except OSError as error:
        raise CliError(
            f"{name} cannot be read: {error.strerror}", code="file.unreadable", exit_code=USAGE
        ) from None
    except ValueError:
        raise CliError(f"{name} is not text in UTF-8.", code="file.unreadable", exit_code=USAGE) from None
