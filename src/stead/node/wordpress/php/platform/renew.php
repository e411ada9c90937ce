<?php
// Has PHP read the files of a plugin or theme again, which it would otherwise do a few seconds later. The node requests it;
// visitors cannot.
(static function (): void {
    $place = (string) ($_SERVER['STEAD_PLACE'] ?? '');
    $places = array_unique([$place, realpath($place) ?: $place]);
    $status = function_exists('opcache_get_status') ? opcache_get_status(true) : false;
    foreach (array_keys($status['scripts'] ?? []) as $file) {
        foreach ($places as $each) {
            if (str_starts_with($file, "$each/") || $file === "$each.php") {
                opcache_invalidate($file, true);
            }
        }
    }
})();
