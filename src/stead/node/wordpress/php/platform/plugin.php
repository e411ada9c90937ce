<?php
// The platform's plugin. wp-config.php loads it into every WordPress, before the plugins of the customer. It names on each page
// what the page shows (the header Cache-Tag, which visitors do not see), and tells the node at the end of a request what has
// changed, so that the edge fetches these pages again. It also answers the sign-in links of the platform, captures the mail of
// copies, and reports what the parts of a traced request took.
namespace Stead;

const AGENT = 'unix:///run/platform/agent.sock';
const TRACES = 'unix:///run/platform/traces.sock';
const WAIT_SECONDS = 0.02;
const MAX_PURGED = 64;
const MAX_HEADER = 4000;
const BUFFER_BYTES = 1 << 20;

require __DIR__ . '/tags.php';
require __DIR__ . '/changes.php';
require __DIR__ . '/schedule.php';
require __DIR__ . '/sign_in.php';
require __DIR__ . '/captured_mail.php';
require __DIR__ . '/traces.php';
require __DIR__ . '/vitals.php';

Traces::begin();

// Sends one message to the node and returns the answer, or null when there is none in time. A purge is done also if nobody
// waits for the answer.
function tell_node(array $message, string $body = '', float $seconds = WAIT_SECONDS, string $socket = AGENT): ?array
{
    $socket = @stream_socket_client($socket, $code, $text, $seconds);
    if (!$socket) {
        return null;
    }
    stream_set_timeout($socket, (int) $seconds, (int) (fmod($seconds, 1) * 1e6));
    @fwrite($socket, json_encode($message, JSON_UNESCAPED_SLASHES) . "\n" . $body);
    $answer = json_decode((string) @fgets($socket, 4096), true);
    fclose($socket);
    return is_array($answer) ? $answer : null;
}

// Runs last: other plugins may change something in their own shutdown functions.
function report(): void
{
    $message = Changes::message() + Schedule::message();
    if ($message) {
        tell_node($message);
    }
    if ($trace = Traces::message()) {
        tell_node($trace, socket: TRACES);
    }
}

function load(): void
{
    if (defined('WP_INSTALLING') && WP_INSTALLING) {
        return;
    }
    Tags::watch();
    Changes::watch();
    Schedule::watch();
    SignIn::watch();
    CapturedMail::watch();
    Traces::watch();
    Vitals::watch();
    add_action('shutdown', static fn() => register_shutdown_function(__NAMESPACE__ . '\report'), PHP_INT_MAX);
}
