<?php
// Loaded by WP-CLI before it runs a command. The control plane has checked the arguments; this checks the command that
// WP-CLI has made of them.
WP_CLI::add_hook('before_run_command', static function (array $words): void {
    $refused = [
        'admin', 'ability', 'acorn', 'ai', 'cap', 'config', 'dist-archive', 'doctor', 'eval', 'eval-file', 'export',
        'find', 'i18n', 'import', 'login', 'mcp', 'network', 'package', 'profile', 'role', 'scaffold', 'server', 'shell',
        'site', 'super-admin',
    ];
    if (in_array($words[0] ?? '', $refused, true)) {
        WP_CLI::error('This command needs the scope exec:raw.');
    }
});
