<?php
// Runs before every script. Uploads contain files, never programs; nginx and FPM refuse them too. The platform installs
// WordPress: if its tables were lost, the first visitor must not become the administrator. The platform also runs scheduled
// events, so that none is run twice.
(static function (): void {
    $script = realpath($_SERVER['SCRIPT_FILENAME'] ?? '') ?: '';
    $refused = '#/wp-content/uploads/|/wp-admin/(install|setup-config)\.php$|^/srv/site/wp-cron\.php$#i';
    if (PHP_SAPI !== 'cli' && preg_match($refused, $script)) {
        http_response_code(403);
        exit;
    }
})();
