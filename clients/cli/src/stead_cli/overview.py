"""The first page of help, and what every command is called. Literals only: it is shown without a delay."""

from stead_cli.tree import GROUPS

WRITTEN: dict[str, tuple[str, str]] = {
    "login": ("login", "Sign in: approve in a browser, or give an API key."),
    "logout": ("login", "Revoke the key of this machine, and forget it."),
    "whoami": ("login", "Show who you are, where, and with which key."),
    "init": ("link", "Create a site for this folder, and link it."),
    "link": ("link", "Link this folder to a site."),
    "unlink": ("link", "Remove the link of this folder."),
    "deploy": ("deploy", "Publish a folder. Prints the URL."),
    "open": ("browse", "Open the site in a browser."),
    "status": ("browse", "Show the linked site, its environments and its last deployments."),
    "rollback": ("releases", "Return to an earlier deployment."),
    "promote": ("releases", "Deploy what an environment serves to production."),
    "logs": ("logs", "Show what an environment logs, and follow it."),
    "insights": ("insights", "Show requests and web vitals as small charts."),
    "backup": ("backups", "Take a snapshot of the site."),
    "restore": ("backups", "Restore a snapshot of the site."),
    "wp": ("remote", "Run WP-CLI in an environment."),
    "ssh": ("remote", "Open a shell in an environment."),
    "follow": ("follow", "Follow a job until it ends."),
    "api": ("api", "Send any request to the API."),
    "commands": ("commands", "List every command with its summary."),
    "completion": ("completion", "Print the completion script of a shell."),
    "doctor": ("doctor", "Check the settings, the connection and the key."),
}
"""The module in `commands` and the summary of each command that is not generated."""

INSIDE: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "db": (
        "database",
        {
            "shell": ("database", "Read the database with SQL."),
            "export": ("database", "Export the database to a file."),
        },
    ),
    "fn": (
        "functions",
        {
            "new": ("functions", "Write the source of a new function."),
            "dev": ("functions_dev", "Run a function on this machine."),
            "deploy": ("functions", "Build and deploy a function from a file."),
            "logs": ("functions", "Show what the functions of a site have logged."),
        },
    ),
    "webhooks": ("webhooks", {"listen": ("listen", "Forward events to a program on this machine.")}),
}
"""Groups with commands of both kinds: the generated group, and those that are written by hand."""

_EXIT_CODES = """Exit codes:
  0  done                              5  not found
  1  failed                            6  refused: permission, quota or plan
  2  wrong usage                       7  conflict
  3  the job, build or deploy failed   8  rate limited or unavailable
  4  input or sign-in needed           130  interrupted
"""


def overview() -> str:
    width = max(map(len, (*WRITTEN, *GROUPS))) + 2
    lines = ["Usage: stead COMMAND [OPTIONS]", "", "Commands:"]
    lines += [f"  {name:<{width}}{summary}" for name, (_, summary) in WRITTEN.items()]
    lines += [
        f"  {name:<{width}}{', '.join(commands)}, and those of {group}"
        for name, (group, commands) in INSIDE.items()
        if name != group
    ]
    lines += ["", "Every operation of the API:"]
    lines += [
        f"  {name:<{width}}{_list_names(commands, 108 - width)}" for name, commands in sorted(GROUPS.items())
    ]
    lines += [
        "",
        _EXIT_CODES,
        "`stead COMMAND --help` shows the options of a command. `--json` works everywhere.",
    ]
    return "\n".join(lines) + "\n"


def _list_names(commands: dict[str, str], width: int) -> str:
    """The names, or those that fit into a line and an ellipsis."""
    names = ", ".join(commands)
    if len(names) <= width:
        return names
    return names[: width - len(" …")].rpartition(" ")[0] + " …"
