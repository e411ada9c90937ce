<?php
// Keeps a plugin or theme before it is changed, brings it back, or forgets what was kept. Code of the site is not loaded: it may be
// broken. The arguments: keep, return or forget; the place of the component; the directory to keep it in; an archive that must
// contain nothing but this component.
// WordPress has variables of its own.
$stead_arguments = $argv;
define('WP_INSTALLING', true);
define('WPMU_PLUGIN_DIR', '/nonexistent');
require '/srv/site/wp-load.php';

(static function () use ($stead_arguments): void {
    global $wpdb;
    [, $action, $place, $kept] = $stead_arguments;
    $archive = $stead_arguments[4] ?? null;
    $names = ['active_plugins', 'stylesheet', 'template'];

    $remove = static function (string $path) use (&$remove): void {
        if (is_link($path) || is_file($path)) {
            unlink($path);
        } elseif (is_dir($path)) {
            foreach (array_diff(scandir($path), ['.', '..']) as $name) {
                $remove("$path/$name");
            }
            rmdir($path);
        }
    };
    $copy = static function (string $from, string $to) use (&$copy): void {
        if (is_link($from)) {
            symlink(readlink($from), $to) || exit("$to cannot be written");
        } elseif (is_dir($from)) {
            is_dir($to) || mkdir($to, fileperms($from) & 0777, true) || exit("$to cannot be written");
            foreach (array_diff(scandir($from), ['.', '..']) as $name) {
                $copy("$from/$name", "$to/$name");
            }
        } else {
            copy($from, $to) || exit("$to cannot be written");
            chmod($to, fileperms($from) & 0777);
        }
    };
    // As WordPress reads it: from the head of a PHP file of a plugin, or of the style of a theme.
    $show_version = static function (ZipArchive $zip): void {
        for ($number = 0; $number < $zip->numFiles; $number++) {
            if (!preg_match('#^[^/]+/([^/]+\.php|style\.css)$#D', (string) $zip->getNameIndex($number))) {
                continue;
            }
            $head = (string) $zip->getFromIndex($number, 8192);
            $is_main = preg_match('#^(?:[ \t]*<\?php)?[ \t/*\#@]*(Plugin|Theme) Name:#mi', $head);
            if ($is_main && preg_match('#^(?:[ \t]*<\?php)?[ \t/*\#@]*Version:(.*)$#mi', $head, $found)) {
                echo 'version ', trim(preg_replace('#\s*(?:\*/|\?>).*#', '', $found[1])), PHP_EOL;
                return;
            }
        }
    };
    $check_archive = static function () use ($archive, $place, $show_version): void {
        if ($archive === null) {
            return;
        }
        $zip = new ZipArchive();
        $zip->open($archive, ZipArchive::RDONLY) === true || exit('the archive cannot be read');
        for ($number = 0; $number < $zip->numFiles; $number++) {
            $name = (string) $zip->getNameIndex($number, ZipArchive::FL_ENC_RAW);
            // WordPress leaves out what macOS adds.
            $parts = explode('/', $name);
            if (!in_array($parts[0], [basename($place), '__MACOSX'], true) || in_array('..', $parts, true)) {
                exit("the archive contains $parts[0], and not only " . basename($place));
            }
        }
        $zip->numFiles > 0 || exit('the archive is empty');
        $show_version($zip);
    };
    $return = static function () use ($wpdb, $place, $kept, $remove, $copy): void {
        $state = json_decode(file_get_contents("$kept/state"), true);
        $remove($place);
        $remove($state['place']);
        if (file_exists("$kept/files")) {
            $copy("$kept/files", $state['place']);
        }
        foreach ($state['options'] as $name => $value) {
            $wpdb->update($wpdb->options, ['option_value' => $value], ['option_name' => $name]);
            wp_cache_delete($name, 'options');
        }
        wp_cache_delete('alloptions', 'options');
    };

    // An attempt that was interrupted has left it there.
    if ($action !== 'forget' && is_file("$kept/state")) {
        $return();
    }
    if ($action === 'keep') {
        $check_archive();
        $remove($kept);
        mkdir($kept, 0700, true) || exit("$kept cannot be written");
        if (!file_exists($place) && is_file("$place.php")) {
            // A plugin without a directory.
            $place .= '.php';
        }
        if (file_exists($place) || is_link($place)) {
            $copy($place, "$kept/files");
        }
        $state = ['place' => $place, 'options' => []];
        foreach ($names as $name) {
            $state['options'][$name] = $wpdb->get_var($wpdb->prepare("SELECT option_value FROM $wpdb->options WHERE option_name = %s", $name));
        }
        // Last: it says that everything else is there.
        file_put_contents("$kept/state.new", json_encode($state)) && rename("$kept/state.new", "$kept/state")
            || exit("$kept cannot be written");
    } else {
        $remove($kept);
    }
    echo 'done', PHP_EOL;
})();
