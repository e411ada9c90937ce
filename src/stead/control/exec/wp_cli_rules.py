"""Which commands of WP-CLI a key may run that has the scope `cms.cli:exec` and not `exec:raw`.

Such a key operates a site; it does not program it. A command that is not in the table is refused: plugins
register commands of their own, and many of WP-CLI's commands run PHP, read and write any file, or make
somebody an administrator.

WP-CLI collects options from the whole line, so an option counts wherever it stands. It rewrites some words
and completes none; only the exact words of the table are accepted.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_OPTION = re.compile(r"--(?:no-)?([a-z][a-z0-9_-]*)(?:=(.*))?", re.DOTALL | re.IGNORECASE | re.ASCII)
_WORD = re.compile(r"[a-z0-9][a-z0-9_-]*")
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?")
_NUMBER = re.compile(r"[0-9]{1,19}")
_LOCALE = re.compile(r"[a-z]{2,3}(?:_[A-Z]{2})?(?:_[a-z0-9]{1,10})?")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,191}")
"""MariaDB compares names without regard to case and accents, and ignores spaces at their end. Of names in
plain ASCII only the case must be considered."""
_PROTECTED_OPTION = re.compile(
    r"siteurl|home|users_can_register|default_role|(new_)?admin_email|adminhash"
    r"|active_plugins|active_sitewide_plugins|uninstall_plugins"
    r"|(template|stylesheet)(_root)?|upload_path|upload_url_path|mailserver_.*|cron|.*user_roles"
    r"|recently_(edited|activated)|db_version|initial_db_version|auth_.*|logged_in_.*|nonce_.*|secret|recovery_.*"
    r"|.*_salt|.*_key|_(site_)?transient_.*|auto_update_.*|theme_mods_.*",
    re.IGNORECASE,
)
_SECRET_OPTION = re.compile(
    r"adminhash|mailserver_.*|auth_.*|logged_in_.*|nonce_.*|secret|recovery_.*|.*_salt|_(site_)?transient_.*",
    re.IGNORECASE,
)
"""Whoever reads these may be able to sign in."""
_PROTECTED_META = re.compile(r"_wp_(?!page_template$|attachment_image_alt$).*", re.IGNORECASE)
"""Of posts. WordPress keeps there which files belong to a post, and removes them together with it."""

_FORBIDDEN_OPTIONS = frozenset(
    {
        # Global parameters that run code, or run the command somewhere else.
        *("exec", "require", "ssh", "ssh-args", "http", "alias", "prompt", "path", "context", "allow-root"),
        *("blog", "url", "skip-packages"),
        # Options of commands that read or write any file, or trust what comes from elsewhere.
        *("config-file", "dir", "export", "file", "filename_format", "log", "source-dir", "target-path"),
        *("callback", "insecure", "unserialize", "hard"),
    }
)


@dataclass(frozen=True)
class Rule:
    """What a command may be given besides its own words."""

    arguments: re.Pattern[str] | None = None
    """Each argument must match; None accepts any."""
    count: int | None = None
    """How many arguments there may be."""
    options: frozenset[str] = frozenset()
    """Options that this command must not have."""
    check: Callable[[Sequence[str]], bool] | None = None
    """Whether the arguments are accepted."""
    values: Mapping[str, re.Pattern[str]] | None = None
    """If given: the only options of the command, and what their values must match."""


def _names_a_plain_option(arguments: Sequence[str]) -> bool:
    """The first argument is the name of the option that changes."""
    return bool(arguments) and _is_plain_option(arguments[0])


def _names_a_readable_option(arguments: Sequence[str]) -> bool:
    return (
        bool(arguments)
        and _PLAIN_NAME.fullmatch(arguments[0]) is not None
        and _SECRET_OPTION.fullmatch(arguments[0]) is None
    )


def _is_plain_option(name: str) -> bool:
    return _PLAIN_NAME.fullmatch(name) is not None and _PROTECTED_OPTION.fullmatch(name) is None


def _names_plain_meta(arguments: Sequence[str]) -> bool:
    """The first argument is the number of the post, the second one the name of the value that changes."""
    return len(arguments) > 1 and _is_plain_meta(arguments[1])


def _is_plain_meta(name: str) -> bool:
    return _PLAIN_NAME.fullmatch(name) is not None and _PROTECTED_META.fullmatch(name) is None


_ANY = Rule()
_CHANGES_META = Rule(check=_names_plain_meta)
_META_OF_A_POST = frozenset({"meta_input"})
"""An option that changes the same values as `post meta`."""
_FROM_THE_DIRECTORY = Rule(arguments=_SLUG, options=frozenset({"version", "force"}))
"""Only the current version from wordpress.org: an old one may have known vulnerabilities."""
_UPDATE = Rule(arguments=_SLUG, options=frozenset({"version"}))
_CHANGES_AN_OPTION = Rule(count=2, check=_names_a_plain_option)

_ANYTHING = re.compile(".*", re.DOTALL)
_GLOBAL_OPTIONS = frozenset({"color", "debug", "help", "quiet", "skip-plugins", "skip-themes", "user"})
"""Options of WP-CLI itself that every command may have."""
_USER_FIELD = (
    r"(?:ID|(?:user_)?(?:login|nicename|email|url|registered|status)|display_name|first_name|last_name"
    r"|nickname|description|roles|caps)"
)
_SHOWS_USERS = {
    "field": re.compile(_USER_FIELD),
    "fields": re.compile(f"{_USER_FIELD}(?:,{_USER_FIELD})*"),
    "format": _ANYTHING,
}
"""WP-CLI finds any column, also by a part of its name, and whatever plugins store about a user: hashes of
passwords, tokens of sessions, keys of a second factor."""
_LISTS_USERS = dict.fromkeys(
    (
        *("exclude", "ids", "include", "json", "login", "login__in", "network", "nicename", "number"),
        *("offset", "order", "orderby", "paged", "role", "role__in", "role__not_in", "search"),
    ),
    _ANYTHING,
)

_ORDINARY = {
    # Not `get` and `pluck`: the cache has the rows of users.
    "cache": "delete flush flush-group supports type",
    "cli": "version",
    "comment": "approve count create delete exists generate get list recount spam status trash unapprove"
    " unspam untrash update",
    "comment meta": "add delete get list patch pluck set update",
    "core": "check-update is-installed update-db verify-checksums version",
    "cron event": "delete list unschedule",
    "cron schedule": "list",
    "db": "prefix tables",
    "language core": "activate is-installed list uninstall update",
    "language plugin": "is-installed list uninstall update",
    "language theme": "is-installed list uninstall update",
    "maintenance-mode": "is-active status",
    "media": "fix-orientation image-size regenerate",
    "menu": "create delete list",
    "menu item": "add-custom add-post add-term delete list update",
    "menu location": "assign list remove",
    "option": "get-autoload",
    "plugin": "activate deactivate delete get is-active is-installed list path search status toggle uninstall"
    " verify-checksums",
    "plugin auto-updates": "disable enable status",
    "post": "delete exists generate get list url-to-id",
    "post meta": "clean-duplicates delete get list pluck",
    "post term": "add list remove set",
    "post-type": "get list",
    "sidebar": "get list",
    "taxonomy": "get list",
    "term": "create delete generate get list migrate recount update",
    "term meta": "add delete get list patch pluck set update",
    "theme": "delete get is-active is-installed list path search status",
    "theme auto-updates": "disable enable status",
    "theme mod": "get list remove set",
    "transient": "delete type",
    "user": "delete exists list-caps",
    "widget": "add deactivate delete list move reset update",
}

_RULES: dict[str, Rule] = {
    **{f"{group} {word}": _ANY for group, words in _ORDINARY.items() for word in words.split()},
    "help": Rule(arguments=_WORD),
    "cron event run": Rule(options=frozenset({"all"})),
    "cron test": Rule(count=0),
    "language core install": Rule(arguments=_LOCALE),
    **{f"option {verb}": _CHANGES_AN_OPTION for verb in ("add", "set", "set-autoload", "update")},
    # Not `list`, which shows the values of all.
    **{f"option {verb}": Rule(check=_names_a_readable_option) for verb in ("get", "pluck")},
    "option delete": Rule(check=lambda names: all(_is_plain_option(each) for each in names)),
    "option patch": Rule(check=lambda arguments: _names_a_plain_option(arguments[1:])),
    "plugin install": _FROM_THE_DIRECTORY,
    "plugin update": _UPDATE,
    "plugin upgrade": _UPDATE,
    "post create": Rule(count=0, options=_META_OF_A_POST),
    **{f"post meta {verb}": _CHANGES_META for verb in ("add", "set", "update")},
    "post meta patch": Rule(check=lambda arguments: _names_plain_meta(arguments[1:])),
    "post update": Rule(arguments=_NUMBER, options=_META_OF_A_POST),
    "rewrite flush": Rule(count=0),
    "rewrite list": _ANY,
    "rewrite structure": _ANY,
    "theme install": _FROM_THE_DIRECTORY,
    "theme update": _UPDATE,
    "theme upgrade": _UPDATE,
    "user get": Rule(count=1, values=_SHOWS_USERS),
    "user list": Rule(count=0, values=_SHOWS_USERS | _LISTS_USERS),
}
_BY_WORDS = {tuple(command.split()): rule for command, rule in _RULES.items()}
_MAX_WORDS = max(map(len, _BY_WORDS))


def is_restricted(args: Sequence[str]) -> bool:
    """Whether the scope `exec:raw` is required to run WP-CLI with these arguments."""
    words, options = [], list[tuple[str, str]]()
    for arg in args:
        if not arg.startswith("-"):
            words.append(arg)
        elif found := _OPTION.fullmatch(arg):
            options.append((found[1].lower(), found[2] or ""))
        else:
            return True
    rule, arguments = _find_rule(words)
    return rule is None or not _accepts(rule, arguments, options)


def _find_rule(words: Sequence[str]) -> tuple[Rule | None, Sequence[str]]:
    for length in range(min(_MAX_WORDS, len(words)), 0, -1):
        if rule := _BY_WORDS.get(tuple(words[:length])):
            return rule, words[length:]
    return None, ()


def _accepts(rule: Rule, arguments: Sequence[str], options: Sequence[tuple[str, str]]) -> bool:
    return (
        {name for name, _ in options}.isdisjoint(_FORBIDDEN_OPTIONS | rule.options)
        and (rule.values is None or all(_has_value(rule.values, *each) for each in options))
        and (rule.count is None or len(arguments) <= rule.count)
        and (rule.arguments is None or all(rule.arguments.fullmatch(each) for each in arguments))
        and (rule.check is None or rule.check(arguments))
    )


def _has_value(values: Mapping[str, re.Pattern[str]], name: str, value: str) -> bool:
    return name in _GLOBAL_OPTIONS or (name in values and values[name].fullmatch(value) is not None)
