<?php
// Sign-in links of the platform. The link opens a page with a button, and only the button signs in: previews of links and
// scanners of mail read pages and press nothing. The token is in the fragment of the link, which no browser sends to a server.
namespace Stead;

final class SignIn
{
    const ACTION = 'stead-sign-in';
    const WAIT_SECONDS = 8.0;
    const OWN_TURN_SECONDS = 1.0;
    const TURN_SECONDS = 3.0;
    const REFUSAL_SECONDS = 0.25;

    private static string $address = '';

    // Plugins may replace it with what the visitor claims, so it is read before them.
    public static function remember_address(): void
    {
        self::$address = filter_var($_SERVER['REMOTE_ADDR'] ?? '', FILTER_VALIDATE_IP) ?: '';
    }

    public static function watch(): void
    {
        $script = realpath($_SERVER['SCRIPT_FILENAME'] ?? '');
        if ($script === '/srv/site/wp-login.php' && ($_GET['action'] ?? '') === self::ACTION) {
            // Before plugins that hide or replace the page of WordPress.
            add_action('wp_loaded', [self::class, 'answer'], PHP_INT_MIN, 0);
        }
    }

    public static function answer(): void
    {
        $method = $_SERVER['REQUEST_METHOD'] ?? '';
        if ($method === 'POST') {
            self::redeem();
        } elseif ($method === 'GET' || $method === 'HEAD') {
            self::show(200, 'You can use this link once.', true);
        } else {
            self::show(405, 'This page cannot be used in this way.');
        }
        exit;
    }

    private static function redeem(): void
    {
        $token = $_POST['token'] ?? '';
        // Another site must not sign a visitor in as somebody else.
        $is_own = in_array($_SERVER['HTTP_SEC_FETCH_SITE'] ?? 'same-origin', ['same-origin', 'none'], true);
        if (!$is_own || !is_string($token) || !preg_match('/^[A-Za-z0-9_-]{43}\z/', $token)) {
            self::refuse();
            return;
        }
        // One at a time, and refusals are slow: visitors who guess must not use up the messages that the site may send. Of
        // one visitor (an IPv4 address, or a /64 of IPv6) only one request waits with the others, so many lock nobody else out.
        $visitor = substr((string) @inet_pton(self::$address), 0, 8);
        $own_turn = self::wait_for_turn('-' . substr(hash('sha256', $visitor), 0, 2), self::OWN_TURN_SECONDS);
        $turn = $own_turn ? self::wait_for_turn('', self::TURN_SECONDS) : false;
        if (!$turn) {
            self::show(503, 'Others are signing in. Please go back and try again.');
            return;
        }
        $host = strtolower(preg_replace('/:\d+\z/', '', $_SERVER['HTTP_HOST'] ?? ''));
        $answer = tell_node(['sign_in' => ['token' => $token, 'host' => $host, 'address' => self::$address]], '', self::WAIT_SECONDS);
        if ($answer === null || ($answer['error'] ?? '') === 'unavailable') {
            usleep((int) (self::REFUSAL_SECONDS * 1e6));
            self::show(503, 'The platform does not answer. Please go back and try again.');
            return;
        }
        $user = isset($answer['sign_in']['user']) ? get_user_by('login', $answer['sign_in']['user']) : false;
        if (!$user || !self::may_sign_in($user)) {
            usleep((int) (self::REFUSAL_SECONDS * 1e6));
            self::refuse();
            return;
        }
        fclose($turn);
        fclose($own_turn);
        wp_set_current_user($user->ID);
        wp_set_auth_cookie($user->ID, false, is_ssl());
        do_action('wp_login', $user->user_login, $user);
        self::send_headers();
        wp_safe_redirect(WP_HOME . $answer['sign_in']['redirect_to'], 303);
    }

    // A lock, which ends with the request at the latest.
    private static function wait_for_turn(string $suffix, float $seconds)
    {
        $file = fopen("/tmp/.stead-sign-in$suffix", 'c');
        $until = microtime(true) + $seconds;
        while ($file && !flock($file, LOCK_EX | LOCK_NB)) {
            if (microtime(true) > $until) {
                return false;
            }
            usleep(20000);
        }
        return $file;
    }

    private static function may_sign_in(\WP_User $user): bool
    {
        if (is_multisite()) {
            return !is_user_spammy($user) && (is_super_admin($user->ID) || is_user_member_of_blog($user->ID));
        }
        return (bool) $user->roles;
    }

    private static function refuse(): void
    {
        self::show(403, 'This link is not valid. It may have been used, or be older than a minute. Please create another one.');
    }

    private static function send_headers(string $nonce = ''): void
    {
        nocache_headers();
        header('Cache-Control: no-store, private');
        header('Referrer-Policy: no-referrer');
        header('X-Content-Type-Options: nosniff');
        header('X-Frame-Options: DENY');
        header('X-Robots-Tag: noindex, nofollow');
        $allowed = $nonce === '' ? '' : "script-src 'nonce-$nonce'; style-src 'nonce-$nonce'; form-action 'self'; ";
        header("Content-Security-Policy: default-src 'none'; {$allowed}base-uri 'none'; frame-ancestors 'none'");
    }

    // Nothing on the page comes from the request.
    private static function show(int $status, string $text, bool $offer = false): void
    {
        $nonce = bin2hex(random_bytes(16));
        status_header($status);
        header('Content-Type: text/html; charset=utf-8');
        self::send_headers($nonce);
        $host = esc_html(parse_url(WP_HOME, PHP_URL_HOST));
        $form = !$offer ? '' : <<<HTML
            <form method="post"><input type="hidden" name="token"><button id="sign-in" hidden>Sign in to $host</button></form>
            <noscript><p>Please allow scripts on this page: the link is read by one.</p></noscript>
            <script nonce="$nonce">
            const token = location.hash.slice(1), form = document.forms[0];
            if (/^[A-Za-z0-9_-]{43}$/.test(token)) {
                form.elements.token.value = token;
                form.elements['sign-in'].hidden = false;
            }
            </script>
            HTML;
        echo <<<HTML
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <title>Sign in</title>
            <style nonce="$nonce">
            body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 30rem; margin: 20vh auto; padding: 0 1rem; text-align: center }
            button { font: inherit; padding: 0.6rem 1.4rem; border: 0; border-radius: 4px; background: #2271b1; color: #fff }
            </style>
            <p>$text</p>
            $form
            </html>

            HTML;
    }
}

SignIn::remember_address();
