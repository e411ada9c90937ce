<?php
// What a request has changed, as the tags of the pages that show it. Sent once, at the end of the request.
namespace Stead;

final class Changes
{
    // These are part of many pages.
    public const GLOBAL_TYPES = [
        'wp_template', 'wp_template_part', 'wp_navigation', 'wp_global_styles', 'wp_block', 'wp_font_family', 'wp_font_face',
        'nav_menu_item', 'custom_css',
    ];
    private const GLOBAL_OPTIONS = [
        'active_plugins', 'avatar_default', 'avatar_rating', 'blog_charset', 'blog_public', 'blogdescription', 'blogname',
        'category_base', 'close_comments_days_old', 'close_comments_for_old_posts', 'comment_order', 'comment_registration',
        'comments_per_page', 'date_format', 'default_comments_page', 'gmt_offset', 'home', 'nav_menu_options', 'page_comments',
        'page_for_posts', 'page_on_front', 'permalink_structure', 'posts_per_page', 'posts_per_rss', 'require_name_email',
        'rss_use_excerpt', 'show_avatars', 'show_on_front', 'sidebars_widgets', 'site_icon', 'site_logo', 'siteurl',
        'start_of_week', 'sticky_posts', 'stylesheet', 'tag_base', 'template', 'thread_comments', 'thread_comments_depth',
        'time_format', 'timezone_string', 'use_smilies', 'wp_page_for_privacy_policy', 'WPLANG',
    ];
    // Written while an editor is open.
    private const IGNORED_META = ['_edit_lock', '_edit_last', '_encloseme', '_pingme', '_wp_old_slug', '_wp_old_date'];

    private static array $tags = [];
    private static bool $all = false;
    private static bool $components = false;

    public static function watch(): void
    {
        add_action('wp_after_insert_post', [self::class, 'post_saved'], PHP_INT_MAX, 4);
        add_action('before_delete_post', [self::class, 'post_deleted'], PHP_INT_MAX, 2);
        add_action('delete_attachment', [self::class, 'post_deleted'], PHP_INT_MAX, 2);
        add_action('clean_post_cache', [self::class, 'post_changed'], PHP_INT_MAX, 2);
        foreach (['added_post_meta', 'updated_post_meta', 'deleted_post_meta'] as $hook) {
            add_action($hook, [self::class, 'meta_changed'], PHP_INT_MAX, 3);
        }
        add_action('set_object_terms', [self::class, 'terms_of_post_changed'], PHP_INT_MAX, 6);
        foreach (['created_term', 'edited_term', 'delete_term'] as $hook) {
            add_action($hook, [self::class, 'term_changed'], PHP_INT_MAX, 3);
        }
        add_action('comment_post', static fn($id) => self::comment_changed(get_comment($id)), PHP_INT_MAX, 1);
        add_action('edit_comment', static fn($id) => self::comment_changed(get_comment($id)), PHP_INT_MAX, 1);
        add_action('transition_comment_status', [self::class, 'comment_moderated'], PHP_INT_MAX, 3);
        add_action('delete_comment', static fn($id, $comment) => self::comment_changed($comment), PHP_INT_MAX, 2);
        foreach (['profile_update', 'delete_user'] as $hook) {
            add_action($hook, static fn($id) => self::add("user-$id", "author-$id"), PHP_INT_MAX, 1);
        }
        $everything = [
            'switch_theme', 'customize_save_after', 'wp_update_nav_menu', 'wp_delete_nav_menu', 'activated_plugin',
            'deactivated_plugin', 'upgrader_process_complete',
        ];
        foreach ($everything as $hook) {
            add_action($hook, [self::class, 'everything_changed'], PHP_INT_MAX, 0);
        }
        // Other files: the platform scans them, and looks which versions there are.
        $components = ['activated_plugin', 'deleted_plugin', 'switch_theme', 'deleted_theme', 'upgrader_process_complete'];
        foreach ($components as $hook) {
            add_action($hook, [self::class, 'components_changed'], PHP_INT_MAX, 0);
        }
        foreach (['added_option', 'updated_option', 'deleted_option'] as $hook) {
            add_action($hook, [self::class, 'option_changed'], PHP_INT_MAX, 1);
        }
        foreach (['woocommerce_product_set_stock', 'woocommerce_variation_set_stock'] as $hook) {
            add_action($hook, static fn($product) => self::product_changed($product), PHP_INT_MAX, 1);
        }
        foreach (['woocommerce_product_set_stock_status', 'woocommerce_variation_set_stock_status'] as $hook) {
            add_action($hook, static fn($id, $status, $product) => self::product_changed($product), PHP_INT_MAX, 3);
        }
    }

    // What to tell the node; empty if nothing has changed.
    public static function message(): array
    {
        [$tags, $all] = [self::$tags, self::$all];
        $components = self::$components ? ['components' => true] : [];
        [self::$tags, self::$all, self::$components] = [[], false, false];
        if ($all || count($tags) > MAX_PURGED || ($tags && defined('WP_IMPORTING') && WP_IMPORTING)) {
            return ['purge_all' => true] + $components;
        }
        return ($tags ? ['purge' => array_map('strval', array_keys($tags))] : []) + $components;
    }

    public static function components_changed(): void
    {
        self::$components = true;
    }

    public static function everything_changed(): void
    {
        self::$all = true;
    }

    private static function add(string ...$tags): void
    {
        foreach ($tags as $tag) {
            self::$tags[$tag] = true;
            $class = strstr($tag, '-', true);
            if (in_array($class, ['post', 'term', 'user'], true)) {
                self::$tags["many-{$class}s"] = true;
            }
        }
    }

    private static function is_visible($post): bool
    {
        return $post instanceof \WP_Post && $post->post_type !== 'revision'
            && ($post->post_status === 'inherit' || (get_post_status_object($post->post_status)->public ?? false));
    }

    public static function post_saved($id, $post, $update, $before): void
    {
        if (!self::is_visible($post) && !self::is_visible($before)) {
            return;
        }
        if (in_array($post->post_type, self::GLOBAL_TYPES, true)) {
            self::everything_changed();
            return;
        }
        self::post_changed($id, $post);
        $fields = [
            'post_status', 'post_date', 'post_title', 'post_name', 'post_author', 'post_parent', 'menu_order', 'post_type',
            'post_password',
        ];
        foreach ($fields as $field) {
            if (!$before || $before->$field !== $post->$field) {
                self::list_changed($post);
                if ($before) {
                    self::list_changed($before);
                }
                return;
            }
        }
    }

    public static function post_deleted($id, $post): void
    {
        if (self::is_visible($post)) {
            self::post_changed($id, $post);
            self::list_changed($post);
        }
    }

    // The post itself, wherever it is shown.
    public static function post_changed($id, $post): void
    {
        if (self::is_visible($post) && !in_array($post->post_type, self::GLOBAL_TYPES, true)) {
            self::add("post-$post->ID", "any-$post->post_type", 'any-any', 'search', 'rest');
        }
    }

    // Pages that show other posts change too, because one is added, removed, or has another place.
    private static function list_changed(\WP_Post $post): void
    {
        $type = $post->post_type;
        self::add("post-$post->ID", "any-$type", 'any-any', "list-$type", 'list-any', "author-$post->post_author");
        self::add('404', 'feed', 'search', 'date', 'rest');
        foreach (get_object_taxonomies($post->post_type) as $taxonomy) {
            self::add("terms-$taxonomy");
            $terms = get_the_terms($post, $taxonomy);
            foreach (is_array($terms) ? $terms : [] as $term) {
                self::add("archive-$term->term_taxonomy_id");
            }
        }
    }

    // Not while visitors only read: some plugins count them in the post.
    public static function meta_changed($meta, $id, $key): void
    {
        $reads = PHP_SAPI !== 'cli' && !wp_doing_cron() && in_array($_SERVER['REQUEST_METHOD'] ?? '', ['GET', 'HEAD'], true);
        if (!$reads && !in_array($key, self::IGNORED_META, true)) {
            self::post_changed($id, get_post($id));
        }
    }

    public static function terms_of_post_changed($id, $terms, $new, $taxonomy, $append, $old): void
    {
        $changed = [...array_diff($new, $old), ...array_diff($old, $new)];
        $post = get_post($id);
        if ($changed && self::is_visible($post)) {
            self::post_changed($id, $post);
            self::add("terms-$taxonomy", ...array_map(static fn($term) => "archive-$term", $changed));
        }
    }

    public static function term_changed($id, $number, $taxonomy): void
    {
        if (in_array($taxonomy, ['nav_menu', 'wp_theme', 'wp_template_part_area'], true)) {
            self::everything_changed();
            return;
        }
        self::add("term-$number", "archive-$number", "terms-$taxonomy", 'rest');
    }

    public static function comment_changed($comment): void
    {
        if ($comment instanceof \WP_Comment && in_array($comment->comment_approved, ['1', 'approve'], true)) {
            self::add("post-$comment->comment_post_ID", 'comments', 'feed', 'rest');
        }
    }

    public static function comment_moderated($new, $old, $comment): void
    {
        if ($new !== $old && in_array('approved', [$new, $old], true)) {
            self::add("post-$comment->comment_post_ID", 'comments', 'feed', 'rest');
        }
    }

    public static function option_changed($name): void
    {
        global $pagenow;
        if (str_starts_with($name, '_transient_') || str_starts_with($name, '_site_transient_')) {
            return;
        }
        $known = in_array($name, self::GLOBAL_OPTIONS, true)
            || str_starts_with($name, 'widget_') || str_starts_with($name, 'theme_mods_');
        // Settings pages of plugins save their options there.
        if ($known || $pagenow === 'options.php') {
            self::everything_changed();
        }
    }

    private static function product_changed($product): void
    {
        if (is_object($product) && method_exists($product, 'get_id')) {
            self::add('post-' . ($product->get_parent_id() ?: $product->get_id()), 'list-product', 'rest');
        }
    }
}
