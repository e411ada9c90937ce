<?php
// Web vitals: visitors measure how fast pages are, if the owner has switched that on (the option `stead_vitals`).
namespace Stead;

final class Vitals
{
    public static function watch(): void
    {
        add_action('wp_head', [self::class, 'write_script'], 1, 0);
    }

    public static function write_script(): void
    {
        if (get_option('stead_vitals')) {
            echo '<script src="/_stead/vitals.js" async></script>', "\n";
        }
    }
}
