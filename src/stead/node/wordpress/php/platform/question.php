<?php
// Answers one question of the platform's API. The node requests it; visitors cannot. It runs inside the site, with its plugins:
// what they print is thrown away, and the answer stands between marks that only this request has.
namespace Stead\Questions;

final class Refused extends \Exception
{
}

final class NotFound extends \Exception
{
}

final class Reply
{
    private static bool $sent = false;
    private static string $mark = '';

    public static function begin(): void
    {
        self::$mark = (string) ($_SERVER['STEAD_MARK'] ?? '');
        unset($_SERVER['STEAD_MARK']);
        ob_start();
        register_shutdown_function(static function (): void {
            if (!self::$sent) {
                self::send(['error' => 'failed', 'reason' => self::why()]);
            }
        });
    }

    public static function send(array $answer): void
    {
        self::$sent = true;
        while (ob_get_level() > 0 && @ob_end_clean()) {
        }
        $flags = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE;
        $text = json_encode($answer, $flags);
        if ($text === false) {
            $text = '{"error":"failed","reason":"the site has values that cannot be written as JSON"}';
        }
        echo "\n<", self::$mark, '>', $text, '</', self::$mark, ">\n";
        // Plugins that print at the end must not add to it.
        ob_start(static fn() => '');
    }

    private static function why(): string
    {
        $error = error_get_last();
        $fatal = E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_RECOVERABLE_ERROR;
        if ($error === null || !($error['type'] & $fatal)) {
            return 'the code of the site ended the request';
        }
        [$line] = explode("\n", $error['message']);
        return 'PHP: ' . $line;
    }
}

// The identifier of something that WordPress knows by other names. `$kind` is its first letter.
function identifier(string $prefix, string $kind, string ...$names): string
{
    $flags = JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE;
    $digest = hash('sha256', json_encode([$_SERVER['STEAD_ENVIRONMENT'], $kind, ...$names], $flags));
    return $prefix . '_' . $kind . substr($digest, 0, 26 - strlen($kind));
}

function timestamp(?string $moment): ?string
{
    return $moment && !str_starts_with($moment, '0000') ? str_replace(' ', 'T', $moment) . 'Z' : null;
}

// The administrator that the platform acts as. Without the right to write any HTML: a key for content must not be able to plant
// scripts that run when a person administers the site.
function act_as_administrator(): void
{
    add_filter('user_has_cap', static fn(array $caps): array => ['unfiltered_html' => false] + $caps, PHP_INT_MAX);
    $administrators = get_users(['role' => 'administrator', 'number' => 1, 'orderby' => 'ID', 'fields' => 'ID']);
    wp_set_current_user((int) ($administrators[0] ?? 0));
}

// How long the question is; a file may follow it.
function question_bytes(): int
{
    return (int) ($_SERVER['STEAD_QUESTION_BYTES'] ?? -1);
}

function write_file(string $path): void
{
    $input = fopen('php://input', 'rb');
    $output = fopen($path, 'wb');
    if (!$output || stream_get_contents($input, question_bytes()) === false || !stream_copy_to_stream($input, $output)) {
        throw new Refused('The file cannot be written; the disk may be full.');
    }
    fclose($output);
}

function succeed(mixed $result): mixed
{
    if (is_wp_error($result)) {
        throw new Refused(wp_strip_all_tags($result->get_error_message()) ?: $result->get_error_code());
    }
    return $result;
}

(static function (): void {
    Reply::begin();
    set_time_limit(max(1, (int) ($_SERVER['STEAD_SECONDS'] ?? 15)));
    define('WP_DISABLE_FATAL_ERROR_HANDLER', true);
    define('REST_REQUEST', true);
})();

require '/srv/site/wp-load.php';

(static function (): void {
    [$family, $action] = explode('.', (string) ($_SERVER['STEAD_QUESTION'] ?? '')) + ['', ''];
    $classes = ['components' => 'Components', 'content' => 'Content', 'users' => 'Users', 'cron' => 'Events'];
    $body = json_decode((string) stream_get_contents(fopen('php://input', 'rb'), question_bytes()), true);
    if (!isset($classes[$family]) || !is_array($body)) {
        Reply::send(['error' => 'failed', 'reason' => 'the question is not known']);
        return;
    }
    require __DIR__ . "/questions/$family.php";
    try {
        $result = [__NAMESPACE__ . '\\' . $classes[$family], "answer_$action"]($body);
        Reply::send(['result' => $result]);
    } catch (NotFound $missing) {
        Reply::send(['error' => 'not_found', 'reason' => $missing->getMessage()]);
    } catch (Refused $refused) {
        Reply::send(['error' => 'refused', 'reason' => $refused->getMessage()]);
    } catch (\Throwable $error) {
        error_log(sprintf('stead: %s in %s:%d', $error->getMessage(), $error->getFile(), $error->getLine()));
        Reply::send(['error' => 'failed', 'reason' => 'PHP: ' . $error->getMessage()]);
    }
})();
