"""Commands that make somebody an administrator, move the site elsewhere, or destroy it."""

from tests.node.wordpress.wp_cli_attempts.attempt import (
    Attempt,
    Make,
    attempt,
    finds,
    has_meta,
    has_option,
    prints,
)

_ADMINISTRATOR = has_meta("wp_capabilities", "administrator")


def _option(name: str, value: str, text: str = "", *, command: str = "option update") -> Attempt:
    return attempt((*command.split(), name, value), effect=has_option(name, text or value.replace("%", "")))


def _user(login: str) -> Make:
    return finds(f"select 1 from {{schema}}.wp_users where user_login = '{login}'")


TAKEOVER = (
    # People
    attempt("user create {name} {name}@example.com --role=administrator", effect=_user("{name}")),
    attempt("user create {name} {name}@example.com", effect=_user("{name}")),
    attempt("user update {user} --role=administrator", effect=_ADMINISTRATOR),
    attempt(
        "user update {user} --user_email={name}@evil.example --skip-email",
        effect=finds("select 1 from {schema}.wp_users where user_email = '{name}@evil.example'"),
    ),
    attempt("user set-role {user} administrator", effect=_ADMINISTRATOR),
    attempt("user add-role {user} administrator", effect=_ADMINISTRATOR),
    attempt("user add-cap {user} manage_options", effect=has_meta("wp_capabilities", "manage_options")),
    attempt("user reset-password {user} --skip-email --show-password", effect=prints("assword")),
    attempt("user application-password create {user} x", effect=has_meta("_application_passwords", "name")),
    attempt("user application-password list {user}"),
    attempt("user session list {user}"),
    attempt("user session destroy {user} --all"),
    attempt("user signup activate x"),
    attempt("user check-password {user} x"),
    attempt("user generate --count=1 --role=administrator"),
    attempt(
        "user import-csv {own}.csv",
        effect=_user("{name}"),
        files={"{own}.csv": "user_login,user_email,role\n{name},{name}@example.com,administrator\n"},
    ),
    attempt(
        ("user", "meta", "update", "{user}", "wp_capabilities", '{"administrator":true}', "--format=json"),
        effect=_ADMINISTRATOR,
    ),
    attempt("user meta patch insert {user} wp_capabilities administrator 1"),
    attempt("user meta add {user} session_tokens {name}", effect=has_meta("session_tokens", "{name}")),
    attempt("user meta get admin _two_factor_totp_key", effect=prints("JBSWY")),
    attempt("user meta list admin", effect=prints("_two_factor_totp_key")),
    attempt("user term list {user} category"),
    attempt("user spam {user}"),
    attempt("super-admin add {user}"),
    attempt("super-admin list"),
    attempt("role create {name} X --clone=administrator", effect=has_option("wp_user_roles", "{name}")),
    attempt("role list", effect=prints("administrator")),
    attempt("role reset subscriber"),
    attempt("cap add subscriber cap_{name}", effect=has_option("wp_user_roles", "cap_{name}")),
    attempt("cap list administrator", effect=prints("manage_options")),
    # Options that decide who rules the site, and what it runs
    _option("default_role", "administrator"),
    _option("Mailserver_Login", "{name}"),
    _option("users_can_register", "1"),
    _option("admin_email", "{name}@evil.example"),
    _option("new_admin_email", "{name}@evil.example"),
    _option("mailserver_url", "{name}.evil.example"),
    _option("mailserver_pass", "{name}"),
    _option("recently_edited", "{name}"),
    _option("upload_url_path", "http://{name}.evil.example"),
    _option("_site_transient_update_plugins", "{name}"),
    _option("_transient_{name}", "{name}"),
    _option("auto_update_plugins", "{name}"),
    _option("auth_key", "{name}"),
    _option("nonce_salt", "{name}"),
    _option("siteurl", "http://{name}.evil.example", command="option set"),
    _option("Home", "http://{name}.evil.example"),
    attempt("option update home http://{name}.evil.example"),
    attempt(("option", "update", "upload_url_path ", "http://{name}.evil.example")),
    attempt(("option", "update", "s\u00edteurl", "http://{name}.evil.example")),
    attempt("option add default_role administrator"),
    attempt("option delete wp_user_roles_{name} siteurl_{name} cron"),
    attempt(
        "option patch insert wp_user_roles subscriber capabilities can_{name} 1",
        effect=has_option("wp_user_roles", "can_{name}"),
    ),
    attempt("site option update {name} 1"),
    attempt("site option get admin_email"),
    attempt("network meta set 1 x y"),
    attempt("transient set {name} {name}", effect=has_option("_transient_{name}", "{name}")),
    attempt("transient patch update update_plugins x y --network"),
    attempt("cache set update_plugins x site-transient"),
    attempt("cron event schedule {name} now", effect=has_option("cron", "{name}")),
    attempt("cron event run --all"),
    attempt("maintenance-mode activate"),
    attempt("site create --slug=x"),
    attempt("site empty --yes"),
    attempt("site delete 1 --yes"),
    attempt("site activate 1"),
    attempt("site switch-language de_DE"),
    attempt("db create"),
    attempt("db drop --yes"),
    attempt("db reset --yes"),
    attempt("db clean --yes"),
    # What the site runs. These come last, because the others need a site.
    _option("upload_path", "/srv/{name}"),
    _option("template", "{name}"),
    _option("stylesheet", "{name}"),
    _option("cron", "{name}"),
    attempt(
        ("option", "update", "active_plugins", '["../uploads/{name}.php"]', "--format=json"),
        effect=has_option("active_plugins", "{name}"),
    ),
    attempt("theme activate twentytwentyfour", effect=has_option("current_theme", "Four")),
)
