<?php
// Installs WordPress once, with the settings in a JSON file. Repeating it changes nothing.
[$script, $file] = $argv;
$wanted = json_decode(file_get_contents($file), true, 8, JSON_THROW_ON_ERROR);

define('WP_INSTALLING', true);
require '/srv/site/wp-load.php';

if (!is_blog_installed()) {
    // The owner knows about the new site, and there may be no mail server.
    function wp_new_blog_notification(...$ignored) {}
    require ABSPATH . 'wp-admin/includes/upgrade.php';
    wp_install($wanted['title'], $wanted['admin_user'], $wanted['admin_email'], true, '', $wanted['admin_password']);
    update_option('siteurl', $wanted['url']);
    update_option('home', $wanted['url']);
    update_option('permalink_structure', '/%postname%/');
    flush_rewrite_rules(false);
}
echo 'WordPress ', get_bloginfo('version'), ' is installed', PHP_EOL;
