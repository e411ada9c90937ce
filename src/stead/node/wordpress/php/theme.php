// A release may not contain the active theme. Then visitors see another one, instead of an empty page.
$stead_has_themes = static function (): bool {
    foreach (['stylesheet', 'template'] as $stead_option) {
        if (!is_dir(WP_CONTENT_DIR . '/themes/' . get_option($stead_option))) {
            return false;
        }
    }
    return true;
};
$wp_filter['stylesheet'][1]['stead'] = [
    'function' => static fn ($theme) => $stead_has_themes() ? $theme : {{stylesheet}},
    'accepted_args' => 1,
];
$wp_filter['template'][1]['stead'] = [
    'function' => static fn ($theme) => $stead_has_themes() ? $theme : {{template}},
    'accepted_args' => 1,
];
