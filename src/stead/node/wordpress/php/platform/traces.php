<?php
// What the parts of a request took: the phases of WordPress, queries without their values, and requests to other servers. The edge
// chooses the requests; those that fail or are slow are reported in any case, then without queries.
namespace Stead;

final class Traces
{
    private const SLOW_SECONDS = 1.0;
    private const MAX_QUERIES = 60;
    private const MAX_CALLS = 20;
    private const MAX_BYTES = 30000;
    private const MAX_NAME = 200;
    private const PHASES = [
        'plugins_loaded' => 'load plugins', 'wp_loaded' => 'initialize', 'template_redirect' => 'find content', 'shutdown' => 'render',
    ];

    private static string $id = '';
    private static bool $sampled = false;
    private static array $moments = [];
    private static array $calls = [];
    private static float $call_began = 0.0;

    // Before the connection to the database exists: queries are recorded only if this is defined by then.
    public static function begin(): void
    {
        $parent = $_SERVER['HTTP_TRACEPARENT'] ?? '';
        if (PHP_SAPI === 'cli' || !preg_match('/^00-([0-9a-f]{32})-[0-9a-f]{16}-([0-9a-f]{2})$/D', $parent, $found)) {
            return;
        }
        self::$id = $found[1];
        self::$sampled = (hexdec($found[2]) & 1) === 1;
        if (self::$sampled && !defined('SAVEQUERIES')) {
            define('SAVEQUERIES', true);
        }
    }

    public static function watch(): void
    {
        if (self::$id === '') {
            return;
        }
        foreach (array_keys(self::PHASES) as $hook) {
            add_action($hook, static function () use ($hook): void {
                self::$moments[$hook] ??= microtime(true);
            }, PHP_INT_MAX - 1, 0);
        }
        add_filter('pre_http_request', static function ($answer) {
            self::$call_began = microtime(true);
            return $answer;
        }, PHP_INT_MIN, 1);
        add_action('http_api_debug', [self::class, 'called'], PHP_INT_MIN, 5);
    }

    public static function called($answer, $context, $class, $arguments, $url): void
    {
        if (count(self::$calls) < self::MAX_CALLS && self::$call_began > 0) {
            $name = ($arguments['method'] ?? 'GET') . ' ' . (string) parse_url((string) $url, PHP_URL_HOST);
            $failed = is_wp_error($answer) || (int) wp_remote_retrieve_response_code($answer) >= 500;
            self::$calls[] = ['http', $name, self::$call_began, microtime(true) - self::$call_began, $failed];
        }
    }

    // What to tell the node; empty for most requests.
    public static function message(): array
    {
        if (self::$id === '') {
            return [];
        }
        $began = (float) ($_SERVER['REQUEST_TIME_FLOAT'] ?? microtime(true));
        $took = microtime(true) - $began;
        $failed = (int) http_response_code() >= 500;
        if (!self::$sampled && !$failed && $took < self::SLOW_SECONDS) {
            return [];
        }
        $spans = [self::span($began, 'php', 'WordPress', $began, $took, -1, $failed)];
        $phases = [];
        $from = $began;
        foreach (self::PHASES as $hook => $name) {
            if (isset(self::$moments[$hook])) {
                $phases[count($spans)] = $from;
                $spans[] = self::span($began, 'php', $name, $from, self::$moments[$hook] - $from, 0, false);
                $from = self::$moments[$hook];
            }
        }
        foreach ([...self::queries(), ...self::$calls] as [$service, $name, $start, $seconds, $wrong]) {
            $parent = 0;
            foreach ($phases as $position => $beginning) {
                $parent = $beginning <= $start ? $position : $parent;
            }
            $spans[] = self::span($began, $service, $name, $start, $seconds, $parent, $wrong);
        }
        while (strlen((string) json_encode($spans)) > self::MAX_BYTES) {
            array_pop($spans);
        }
        $error = strtok((string) (error_get_last()['message'] ?? ''), "\n") ?: '';
        return ['trace' => ['id' => self::$id, 'began' => $began, 'spans' => $spans, 'error' => mb_strcut($error, 0, 200)]];
    }

    private static function span($began, $service, $name, $start, $seconds, $parent, $failed): array
    {
        $offset = max(0, (int) round(($start - $began) * 1e6));
        return [$service, self::bounded($name), $offset, max(0, (int) round($seconds * 1e6)), $parent, $failed];
    }

    // The slowest ones, in the order in which they were sent.
    private static function queries(): array
    {
        global $wpdb;
        $queries = self::$sampled ? (array) ($wpdb->queries ?? []) : [];
        usort($queries, static fn($one, $other) => $other[1] <=> $one[1]);
        $queries = array_slice($queries, 0, self::MAX_QUERIES);
        usort($queries, static fn($one, $other) => ($one[3] ?? 0) <=> ($other[3] ?? 0));
        return array_map(
            static fn($query) => ['database', self::without_values((string) $query[0]), (float) ($query[3] ?? 0), (float) $query[1], false],
            $queries,
        );
    }

    // Names of tables and columns stay, everything that a visitor may have sent goes.
    private static function without_values(string $query): string
    {
        $query = substr($query, 0, 4000);
        // In one pass, because each of them may contain the beginning of another one. It depends on the server's version whether a
        // comment that begins with an exclamation mark is one, so nothing after that is kept.
        $query = preg_replace_callback(
            '~`[^`]*+`'
                . '|(?<value>\'(?:[^\'\\\\]++|\\\\.)*+(?:\'|\\\\?\z)|"(?:[^"\\\\]++|\\\\.)*+(?:"|\\\\?\z)|`.*+|/\*M?!.*+)'
                . '|(?<comment>/\*.*?(?:\*/|\z)|(?:\#|--(?=[\s\x00-\x1f]|\z))[^\n]*+)~s',
            static fn($found) => isset($found['comment']) ? ' ' : (isset($found['value']) ? '?' : $found[0]),
            $query,
        ) ?? '';
        $query = preg_replace('/`[^`]*+`(*SKIP)(*FAIL)|\b\d[\w.]*/', '?', $query) ?? '';
        $query = preg_replace(['/\s+/', '/\(\s*\?(?:\s*,\s*\?)+\s*\)/'], [' ', '(?, …)'], $query) ?? '';
        return trim($query);
    }

    private static function bounded(string $text): string
    {
        $text = mb_convert_encoding($text, 'UTF-8', 'UTF-8');
        return mb_strlen($text) > self::MAX_NAME ? mb_substr($text, 0, self::MAX_NAME) . '…' : $text;
    }
}
