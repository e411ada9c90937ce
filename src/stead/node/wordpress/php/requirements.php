<?php
// Prints what the code of the site requires of PHP and this version does not fulfil: a line for each, and `checked` if these
// are all. Its arguments are what to look at: `composer`, `plugins`.
use Composer\Semver\Semver;

const RELEASE = '/run/release';

function report(string $line, string $prefix = 'requires'): void
{
    echo "$prefix: ", substr(preg_replace('/[^\x20-\x7e]+/', '?', $line), 0, 300), PHP_EOL;
}

function read_json(string $name): array
{
    if (!is_file(RELEASE . "/$name")) {
        return [];
    }
    $read = json_decode(file_get_contents(RELEASE . "/$name"), true);
    if (!is_array($read)) {
        report("$name cannot be read", 'unknown');
        exit(1);
    }
    return $read;
}

function list_of(array $package, string $field): array
{
    return is_array($package[$field] ?? null) ? $package[$field] : [];
}

/** The names of the extensions that this PHP has, as Composer spells them. */
function list_extensions(): array
{
    $names = [...get_loaded_extensions(), ...get_loaded_extensions(true)];
    return array_map(static fn ($name) => 'ext-' . str_replace(' ', '-', strtolower($name)), $names);
}

function check_composer(): void
{
    require '/run/stead/semver/autoload.php';
    $version = PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION . '.' . PHP_RELEASE_VERSION;
    $project = read_json('composer.json');
    $lock = read_json('composer.lock');
    $packages = array_filter(list_of($lock, 'packages'), 'is_array');
    $extensions = list_extensions();
    foreach ($packages as $package) {
        // A polyfill stands in for an extension.
        $provided = [...list_of($package, 'provide'), ...list_of($package, 'replace')];
        $extensions = [...$extensions, ...array_map('strtolower', array_map('strval', array_keys($provided)))];
    }
    $own = $project === [] ? list_of($lock, 'platform') : list_of($project, 'require');
    foreach ([['name' => 'the project', 'require' => $own], ...$packages] as $package) {
        $name = is_string($package['name'] ?? null) ? $package['name'] : 'a package';
        foreach (list_of($package, 'require') as $wanted => $constraint) {
            $wanted = strtolower((string) $wanted);
            $constraint = is_string($constraint) ? $constraint : '';
            if ($wanted === 'php' || $wanted === 'php-64bit') {
                try {
                    $fulfilled = Semver::satisfies($version, $constraint);
                } catch (UnexpectedValueException) {
                    $fulfilled = false;
                }
            } else {
                $fulfilled = !str_starts_with($wanted, 'ext-') || in_array($wanted, $extensions, true);
            }
            if (!$fulfilled) {
                report("$name requires $wanted $constraint");
            }
        }
    }
}

/** The headers of active plugins and of the theme, read without running them. */
function check_plugins(): void
{
    define('SHORTINIT', true);
    require '/srv/site/wp-load.php';
    $files = [];
    foreach ((array) get_option('active_plugins', []) as $plugin) {
        $files["the plugin $plugin"] = WP_CONTENT_DIR . "/plugins/$plugin";
    }
    foreach (['stylesheet', 'template'] as $part) {
        $theme = (string) get_option($part);
        $files["the theme $theme"] = WP_CONTENT_DIR . "/themes/$theme/style.css";
    }
    foreach ($files as $name => $file) {
        $required = is_file($file) ? get_file_data($file, ['php' => 'Requires PHP'])['php'] : '';
        if ($required !== '' && version_compare(PHP_VERSION, $required, '<')) {
            report("$name requires php >=$required");
        }
    }
}

$wanted = array_slice($argv, 1);
if (in_array('composer', $wanted, true)) {
    check_composer();
}
if (in_array('plugins', $wanted, true)) {
    check_plugins();
}
echo 'checked', PHP_EOL;
