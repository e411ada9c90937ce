<?php
// Loaded by WP-CLI before it reads its options: those that run code, or run the command elsewhere, do not exist.
define('WP_CLI_CONFIG_SPEC_FILTER_CALLBACK', 'stead_limit_options');

function stead_limit_options(array $options): array
{
    $removed = ['exec', 'require', 'ssh', 'ssh-args', 'http', 'alias', 'prompt', 'context', 'allow-root', 'url', 'blog'];
    foreach ($removed as $name) {
        if (isset($options[$name])) {
            $options[$name]['runtime'] = false;
            $options[$name]['file'] = false;
        }
    }
    // These are read from the platform's own file only.
    foreach (['path', 'skip-packages'] as $name) {
        $options[$name]['runtime'] = false;
    }
    return $options;
}
