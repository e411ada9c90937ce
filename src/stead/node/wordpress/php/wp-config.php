<?php
// Written by the platform at every start. Changes have no effect. The wp-config.php next to WordPress loads this file,
// and then WordPress itself.
define('DB_NAME', {{database}});
define('DB_USER', {{database_user}});
define('DB_PASSWORD', {{database_password}});
define('DB_HOST', {{database_host}});
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
{{salts}}

// The edge sends only requests for hosts of this environment.
$stead_host = $_SERVER['HTTP_HOST'] ?? '';
$stead_url = PHP_SAPI === 'cli' || $stead_host === ''
    ? {{url}}
    : (empty($_SERVER['HTTPS']) ? 'http://' : 'https://') . $stead_host;
define('WP_HOME', $stead_url);
define('WP_SITEURL', $stead_url);

define('WP_ENVIRONMENT_TYPE', {{environment_type}});
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_AUTO_UPDATE_CORE', false);
define('DISALLOW_FILE_EDIT', true);
{{code}}
define('WP_PROXY_HOST', '127.0.0.1');
define('WP_PROXY_PORT', '3128');
define('FS_METHOD', 'direct');
define('WP_DEBUG', false);
define('WP_DEBUG_LOG', false);
define('WP_DEBUG_DISPLAY', false);

// The platform's plugin cannot be removed: it is loaded from here, not from the files of the site.
require_once '/run/stead/platform/plugin.php';
if (function_exists('add_action')) {
    add_action('muplugins_loaded', 'Stead\load', PHP_INT_MIN, 0);
} else {
    // WordPress itself reads hooks that exist before it is loaded.
    $GLOBALS['wp_filter']['muplugins_loaded'][PHP_INT_MIN]['stead'] = ['function' => 'Stead\load', 'accepted_args' => 0];
}

$table_prefix = 'wp_';
if (!defined('ABSPATH')) {
    define('ABSPATH', '/srv/site/');
}
