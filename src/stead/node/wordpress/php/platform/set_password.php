<?php
// Gives a user another password. The node requests it; visitors cannot. It runs in the PHP of the site, so that a cache in
// memory forgets the earlier password too. Plugins are not loaded: a broken one must not lock its administrator out.
define('WP_INSTALLING', true);
define('WPMU_PLUGIN_DIR', '/nonexistent');
require '/srv/site/wp-load.php';

(static function (): void {
    global $wpdb;
    $user = get_user_by('login', $_SERVER['STEAD_USER'] ?? '');
    if (!$user) {
        echo "\n", json_encode(['missing' => true]), "\n";
        return;
    }
    $values = ['user_pass' => $_SERVER['STEAD_PASSWORD_HASH'], 'user_activation_key' => ''];
    $done = $wpdb->update($wpdb->users, $values, ['ID' => $user->ID]) !== false;
    clean_user_cache($user);
    WP_Session_Tokens::get_instance($user->ID)->destroy_all();
    echo "\n", json_encode($done ? ['done' => true] : ['failed' => true]), "\n";
})();
