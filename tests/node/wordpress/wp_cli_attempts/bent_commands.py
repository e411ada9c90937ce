"""Commands that such a key may run, bent to read a secret, to run code or to reach a file."""

from collections.abc import Mapping

from tests.node.wordpress.wp_cli_attempts.attempt import (
    attempt,
    finds,
    has_option,
    leaks,
    prints,
    removes,
    runs,
)
from tests.node.wordpress.wp_cli_attempts.images import PNG

_GADGET = "<?php class Gadget{name} { public $x; function __wakeup() { {code} } }"
_SERIALIZED = 'O:16:"Gadget{name}":0:{}'
_VICTIM = {"{own}/victim.txt": "x"}
_SIZES = '{"file":"{name}.png","sizes":{"thumbnail":{"file":"{name}/victim.txt"}}}'
_ATTACHED: Mapping[str, str | bytes] = {**_VICTIM, "{own}.png": PNG}
_ATTACH = (
    "{wp} post meta update {post} _wp_attached_file {name}.png &&"
    " {wp} post update {post} --post_type=attachment --post_mime_type=image/png"
)

BENT_COMMANDS = (
    # Fields of users: WP-CLI completes their names, and reads what plugins store.
    attempt("user get admin --field=user_pass", effect=leaks()),
    attempt("user get admin --field=pass", effect=leaks()),
    attempt("user get admin --fields=login,pass", effect=leaks()),
    attempt("user get admin --fields=pass --format=json", effect=leaks()),
    attempt("user get admin --field=activation_key", effect=leaks()),
    attempt("user list --field=user_pass", effect=leaks()),
    attempt("user list --field=pass", effect=leaks()),
    attempt("user list --fields=ID,pass"),
    attempt("user list --fields=ID --fields=user_pass", effect=leaks()),
    attempt("user list --field=activation_key", effect=leaks()),
    attempt("user list --field=data --format=json", effect=leaks()),
    attempt("user list --fields=ID,data --format=json", effect=leaks()),
    attempt("user list --fields=ID,data --format=csv", effect=leaks()),
    attempt("user list --field=_two_factor_totp_key --login=admin", effect=leaks()),
    attempt("user list --field=session_tokens --format=json", effect=leaks()),
    attempt(
        "user list --field=user_login --meta_key=_two_factor_totp_key --meta_compare=LIKE --meta_value=JBSWY",
        effect=prints("admin"),
    ),
    attempt("user list --field=USER_PASS"),
    attempt(("user", "list", "--fields=ID, user_pass")),
    attempt("cache get 1 users --user=admin", effect=leaks()),
    attempt("cache get 1 user_meta --user=admin", effect=leaks()),
    attempt("cache pluck 1 user_pass --group=users --user=admin", effect=leaks()),
    attempt("user list --debug"),
    attempt("option list --debug"),
    attempt("option get blogname --debug=bootstrap"),
    attempt("post list --post_type=any --format=json"),
    attempt("transient list --unserialize"),
    attempt("option list --unserialize"),
    # Options that name code
    attempt(
        ("option", "update", "uninstall_plugins", '{"{name}.php":"{name}"}', "--format=json"),
        "plugin uninstall {name}",
        effect=runs(),
        files={
            "plugins/{name}.php": "<?php\n/* Plugin Name: {name} */\n",
            "mu-plugins/{name}.php": "<?php function {name}() { {code} }",
        },
    ),
    attempt(
        "option patch insert uninstall_plugins {name}.php {name}",
        "plugin uninstall {name}",
        files={
            "plugins/{name}.php": "<?php\n/* Plugin Name: {name} */\n",
            "mu-plugins/{name}.php": "<?php function {name}() { {code} }",
        },
    ),
    attempt(
        "option update WPLANG ../uploads/{name}",
        "option get blogname",
        files={"{own}.l10n.php": "<?php {code} return [];", "{own}.mo": "x"},
    ),
    attempt("option update hack_file 1", "option get blogname", files={"my-hacks.php": "<?php {code}"}),
    attempt(
        "option update stylesheet_root /wp-content/uploads", effect=has_option("stylesheet_root", "uploads")
    ),
    attempt("option update template_root /wp-content/uploads", effect=has_option("template_root", "uploads")),
    attempt("option update recovery_keys {name}", effect=has_option("recovery_keys", "{name}")),
    attempt("option update adminhash {name}", effect=has_option("adminhash", "{name}")),
    # Serialized objects
    attempt(
        ("option", "update", "{name}", _SERIALIZED),
        "option get {name}",
        files={"mu-plugins/{name}.php": _GADGET},
        effect=runs(),
        proof="""{wp} eval 'unserialize("O:16:\\"Gadget{name}\\":0:{}");'""",
    ),
    attempt(
        ("post", "meta", "set", "1", "{name}", _SERIALIZED),
        "post meta get 1 {name}",
        "post meta list 1",
        files={"mu-plugins/{name}.php": _GADGET},
        effect=runs(),
        proof="""{wp} eval 'unserialize("O:16:\\"Gadget{name}\\":0:{}");'""",
    ),
    attempt(
        ("comment", "meta", "set", "1", "{name}", _SERIALIZED),
        "comment meta get 1 {name}",
        files={"mu-plugins/{name}.php": _GADGET},
    ),
    attempt(
        ("theme", "mod", "set", "{name}", _SERIALIZED),
        "theme mod get {name}",
        files={"mu-plugins/{name}.php": _GADGET},
    ),
    # Files that belong to a post
    attempt(
        "post meta update {post} _wp_attached_file ../plugins/hello.php",
        effect=finds(
            "select 1 from {schema}.wp_postmeta where post_id = {post} and meta_value like '%hello.php'"
        ),
    ),
    attempt(
        ("post", "meta", "update", "{post}", "_wp_attachment_metadata", _SIZES, "--format=json"),
        "media regenerate {post} --yes",
        effect=removes("{own}/victim.txt"),
        files=_ATTACHED,
        proof=f"{_ATTACH}"
        f" && {{wp}} post meta update {{post}} _wp_attachment_metadata '{_SIZES}' --format=json"
        " && {wp} media regenerate {post} --yes",
    ),
    attempt(
        ("post", "meta", "update", "{post}", "_WP_ATTACHMENT_METADATA", _SIZES, "--format=json"),
        "media regenerate {post} --yes",
        effect=removes("{own}/victim.txt"),
        files=_ATTACHED,
        proof=f"{_ATTACH} && {{wp}} post meta update {{post}} _wp_attachment_metadata x"
        f" && {{wp}} post meta update {{post}} _WP_ATTACHMENT_METADATA '{_SIZES}' --format=json"
        " && {wp} media regenerate {post} --yes",
    ),
    attempt(
        ("post", "meta", "add", "{post}", "_wp_attachment_metadata", _SIZES, "--format=json"),
        "media regenerate {post} --yes",
        files=_ATTACHED,
    ),
    attempt(
        "post meta patch insert {post} _wp_attachment_metadata sizes x",
        files=_ATTACHED,
    ),
    attempt(
        ("post", "update", "{post}", '--meta_input={"_wp_attached_file":"{name}.txt"}'),
        effect=finds(
            "select 1 from {schema}.wp_postmeta where post_id = {post} and meta_value = '{name}.txt'"
        ),
    ),
    attempt(
        ("post", "create", "--post_title={name}", '--meta_input={"\\u005fwp_attached_file":"{name}.txt"}'),
        effect=finds("select 1 from {schema}.wp_postmeta where meta_value = '{name}.txt'"),
    ),
    attempt(
        "post meta add {post} _wp_font_face_file ../{name}/victim.txt",
        "post update {post} --post_type=wp_font_face",
        "post delete {post} --force",
        effect=removes("{own}/victim.txt"),
        files={**_VICTIM, "uploads/fonts/index.php": "<?php"},
    ),
    attempt(
        "post create --post_type=attachment --post_title={name} --file=/etc/passwd",
        effect=finds("select 1 from {schema}.wp_postmeta where meta_value = '/etc/passwd'"),
    ),
    attempt("post create --from-post={post} --post_title={name}"),
    # Paths instead of names
    attempt("theme delete ../uploads/{name}", watched=removes("{own}/victim.txt"), files=_VICTIM),
    attempt("theme delete ../uploads/{name} --force", watched=removes("{own}/victim.txt"), files=_VICTIM),
    attempt("plugin delete ../uploads/{name}", watched=removes("{own}/victim.txt"), files=_VICTIM),
    attempt("plugin uninstall ../uploads/{name}", files={"{own}/uninstall.php": "<?php {code}"}),
    attempt("plugin activate ../uploads/{name}"),
    attempt("plugin activate ../uploads/{name}.php"),
    attempt("plugin activate {php}"),
    attempt("plugin toggle ../uploads/{name}.php"),
    attempt("plugin get ../uploads/{name}"),
    attempt("plugin path ../../../etc"),
    attempt("theme path ../../../etc"),
    attempt("theme get ../uploads/{name}", files={"{own}/style.css": "/* Theme Name: x */"}),
    attempt("language core uninstall ../uploads/{name}", files={"{own}.mo": "x"}),
    attempt("language core activate ../uploads/{name}", files={"{own}.l10n.php": "<?php {code}"}),
    attempt("language plugin uninstall ../../uploads {name}"),
    # Code in content stays text.
    attempt(
        ("post", "create", "--post_title={name}", "--post_status=publish", "--post_content=<?php {code}")
    ),
    attempt(("post", "create", "--post_title={name}", "--post_content=[php]{code}[/php]")),
    attempt(("comment", "create", "--comment_post_ID=1", "--comment_content=<?php {code}")),
    attempt(("theme", "mod", "set", "{name}", "<?php {code}")),
    attempt(("option", "update", "blogdescription", "<?php {code} ?>")),
    attempt(("term", "create", "category", "<?php {code}")),
    attempt(("rewrite", "structure", "/<?php {code}/%postname%/")),
    attempt(("menu", "create", "<?php {code}")),
    attempt(("widget", "add", "text", "sidebar-1", "1", "--text=<?php {code}")),
    # Scheduled events and other small doors
    attempt(
        "cron event run {name}",
        files={"mu-plugins/{name}.php": "<?php add_action('{name}', function () { {code} });"},
    ),
    attempt(("db", "tables", "x; select 1")),
    attempt("db tables --dbuser=root"),
    attempt("db prefix --defaults"),
    attempt("option get blogname --format=php"),
    attempt("post list --field=post_title --format=../../uploads/{name}"),
)
