<?php
// The program behind PHP's mail(): hands a message from standard input to the node, which sends it. Arguments are ignored:
// recipients are those of the message, and the platform chooses the sender of the envelope.
const MAX_BYTES = 10 << 20;
$message = stream_get_contents(STDIN, MAX_BYTES + 1);
$socket = @stream_socket_client('unix:///run/platform/agent.sock', $code, $text, 2);
if (!$socket) {
    fwrite(STDERR, "mail: the node does not answer\n");
    exit(69);
}
stream_set_timeout($socket, 10);
fwrite($socket, json_encode(['mail' => strlen($message)]) . "\n" . $message);
$answer = json_decode((string) fgets($socket), true);
if (!is_array($answer) || isset($answer['error'])) {
    fwrite(STDERR, 'mail: ' . ($answer['error'] ?? 'the node does not answer') . "\n");
    exit(69);
}
