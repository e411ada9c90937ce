<?php
// In a copy of a site, wp_mail() hands every message to PHP's mail(), which the node captures. A plugin that sends the mail of
// production through a provider is set up in the copy too, and would write to real customers.
namespace Stead;

use PHPMailer\PHPMailer\PHPMailer;

final class CapturedMail
{
    // Classes of WordPress. The class of a plugin may send in its own way.
    const ORDINARY = ['PHPMailer\PHPMailer\PHPMailer', 'WP_PHPMailer'];

    public static function watch(): void
    {
        if (WP_ENVIRONMENT_TYPE !== 'production') {
            add_filter('wp_mail', [self::class, 'begin'], PHP_INT_MAX);
        }
    }

    // Runs at the beginning of wp_mail().
    public static function begin($message)
    {
        // A plugin may send the message there, and say that it is sent.
        remove_all_filters('pre_wp_mail');
        // Added for each message: of the functions with the same priority, the one that was added last runs last.
        remove_action('phpmailer_init', [self::class, 'capture'], PHP_INT_MAX);
        add_action('phpmailer_init', [self::class, 'capture'], PHP_INT_MAX);
        return $message;
    }

    // The parameter is a reference, so that wp_mail() goes on with another object.
    public static function capture(&$mailer): void
    {
        if (!in_array(get_class($mailer), self::ORDINARY, true)) {
            $mailer = self::copy($mailer);
        }
        $mailer->isMail();
    }

    private static function copy(PHPMailer $mailer): PHPMailer
    {
        $copy = new PHPMailer(true);
        foreach ((new \ReflectionClass(PHPMailer::class))->getProperties() as $property) {
            if (!$property->isStatic()) {
                $property->setValue($copy, $property->getValue($mailer));
            }
        }
        return $copy;
    }
}
