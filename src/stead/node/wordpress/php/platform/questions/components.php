<?php
// Plugins and themes.
namespace Stead\Questions;

final class Components
{
    public static function answer_list(array $question): array
    {
        require_once ABSPATH . 'wp-admin/includes/plugin.php';
        return ['components' => [...self::plugins(), ...self::special_plugins(), ...self::themes()]];
    }

    private static function plugins(): array
    {
        $updates = get_site_transient('update_plugins');
        $found = [];
        foreach (get_plugins() as $file => $data) {
            $found[] = self::component('plugin', self::slug($file), $file, $data) + [
                'type' => 'regular',
                'status' => is_plugin_active($file) ? 'active' : 'inactive',
                'update_available' => self::update($updates->response[$file]->new_version ?? null),
            ];
        }
        return $found;
    }

    // Must-use plugins and drop-ins. WordPress loads them always.
    private static function special_plugins(): array
    {
        $found = [];
        foreach (['must_use' => get_mu_plugins(), 'drop_in' => get_dropins()] as $type => $plugins) {
            foreach ($plugins as $file => $data) {
                $found[] = self::component('plugin', self::slug($file), "$type/$file", $data)
                    + ['type' => $type, 'status' => 'active', 'update_available' => null];
            }
        }
        return $found;
    }

    private static function themes(): array
    {
        $updates = get_site_transient('update_themes');
        $used = [get_stylesheet(), get_template()];
        $found = [];
        foreach (wp_get_themes() as $slug => $theme) {
            $data = ['Name' => $theme->get('Name'), 'Version' => $theme->get('Version')];
            $found[] = self::component('theme', (string) $slug, (string) $slug, $data) + [
                'type' => 'regular',
                // A child theme needs its parent.
                'status' => in_array((string) $slug, $used, true) ? 'active' : 'inactive',
                'update_available' => self::update($updates->response[$slug]['new_version'] ?? null),
            ];
        }
        return $found;
    }

    private static function component(string $kind, string $slug, string $file, array $data): array
    {
        return [
            'id' => identifier('comp', $kind[0], $file),
            'kind' => $kind,
            'slug' => $slug,
            'file' => $file,
            'name' => mb_substr((string) ($data['Name'] ?? '') ?: $slug, 0, 200),
            'version' => mb_substr((string) ($data['Version'] ?? ''), 0, 100),
        ];
    }

    // The directory of a plugin, or the name of its file.
    private static function slug(string $file): string
    {
        return dirname($file) === '.' ? basename($file, '.php') : explode('/', $file)[0];
    }

    private static function update(mixed $version): ?string
    {
        return is_string($version) && $version !== '' ? mb_substr($version, 0, 100) : null;
    }
}
