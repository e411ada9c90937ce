<?php
// Compiles all files of WordPress itself into the file cache of OPcache. Nothing of it is run. PHP-FPM has to do this: other
// PHP programs may not use what it stores, nor it what they store. On the command line, this script starts PHP-FPM and requests
// itself from it.
const SOCKET = '/tmp/compile.sock';
const START_SECONDS = 60;

function compile(): int
{
    set_time_limit(0);
    $files = new RecursiveIteratorIterator(new RecursiveDirectoryIterator('/srv/site', FilesystemIterator::SKIP_DOTS));
    $count = 0;
    foreach ($files as $file) {
        if ($file->getExtension() === 'php' && @opcache_compile_file($file->getPathname())) {
            $count++;
        }
    }
    return $count;
}

function record(int $type, string $content): string
{
    return pack('CCnnCC', 1, $type, 1, strlen($content), 0, 0) . $content;
}

function request_itself(): string
{
    $parameters = '';
    foreach (['SCRIPT_FILENAME' => __FILE__, 'REQUEST_METHOD' => 'GET'] as $name => $value) {
        $parameters .= chr(strlen($name)) . chr(strlen($value)) . $name . $value;
    }
    for ($until = microtime(true) + START_SECONDS; !($fpm = @stream_socket_client('unix://' . SOCKET)); usleep(10000)) {
        if (microtime(true) > $until) {
            return '';
        }
    }
    stream_set_timeout($fpm, 600);
    fwrite($fpm, record(1, pack('nCx5', 1, 0)) . record(4, $parameters) . record(4, '') . record(5, ''));
    return (string) stream_get_contents($fpm);
}

if (PHP_SAPI !== 'cli') {
    echo compile(), ' files were compiled';
    exit;
}
file_put_contents('/tmp/fpm.conf', implode("\n", [
    '[global]', 'error_log = /proc/self/fd/2', '[www]', 'listen = ' . SOCKET, 'pm = static', 'pm.max_children = 1',
]));
$fpm = proc_open([...array_slice($argv, 1), '--nodaemonize', '--fpm-config', '/tmp/fpm.conf'], [], $pipes);
$answer = $fpm ? request_itself() : '';
proc_terminate($fpm);
exit(preg_match('/[1-9]\d* files were compiled/', $answer) ? 0 : 1);
