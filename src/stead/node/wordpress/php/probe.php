<?php
// Answers a request for the front page, and ends with 1 if it fails. The first line that it prints says why.
[, $host] = $argv;
$_SERVER = [
    'HTTP_HOST' => $host, 'SERVER_NAME' => $host, 'SERVER_PORT' => '443', 'HTTPS' => 'on',
    'SERVER_PROTOCOL' => 'HTTP/1.1', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/', 'QUERY_STRING' => '',
    'SCRIPT_NAME' => '/index.php', 'PHP_SELF' => '/index.php', 'SCRIPT_FILENAME' => '/srv/site/index.php',
    'DOCUMENT_ROOT' => '/srv/site', 'REMOTE_ADDR' => '127.0.0.1', 'HTTP_USER_AGENT' => 'Stead',
] + $_SERVER;
define('WP_USE_THEMES', true);
// Its handler would hide the error behind a page.
define('WP_DISABLE_FATAL_ERROR_HANDLER', true);
register_shutdown_function(static function (): void {
    $fatal = E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_RECOVERABLE_ERROR;
    $error = error_get_last();
    $failed = $error !== null && ($error['type'] & $fatal);
    $status = http_response_code() ?: 200;
    while (ob_get_level() > 0) {
        ob_end_clean();
    }
    if ($failed) {
        [$line] = explode("\n", $error['message']);
        $place = " in {$error['file']}:{$error['line']}";
        echo 'PHP: ', $line, str_contains($line, $error['file']) ? '' : $place, PHP_EOL;
    } elseif ($status >= 500) {
        echo "the front page was answered $status", PHP_EOL;
    } else {
        echo "the front page was answered $status", PHP_EOL;
        exit(0);
    }
    exit(1);
});
ob_start();
require '/srv/site/index.php';
