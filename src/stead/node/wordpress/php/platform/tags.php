<?php
// What a page shows: the header Cache-Tag. A page with too many tags gets one tag for all of a class instead.
namespace Stead;

final class Tags
{
    private static array $tags = [];

    public static function watch(): void
    {
        if (PHP_SAPI === 'cli' || !in_array($_SERVER['REQUEST_METHOD'] ?? '', ['GET', 'HEAD'], true) || is_admin()) {
            return;
        }
        add_action('pre_get_posts', [self::class, 'shows_list'], PHP_INT_MAX, 1);
        add_filter('the_posts', [self::class, 'shows_posts'], PHP_INT_MAX, 2);
        add_filter('the_comments', [self::class, 'shows_comments'], PHP_INT_MAX, 2);
        add_filter('get_terms', [self::class, 'shows_terms'], PHP_INT_MAX, 3);
        add_filter('get_the_terms', [self::class, 'shows_terms_of_post'], PHP_INT_MAX, 1);
        add_filter('get_previous_post_where', [self::class, 'shows_neighbour'], PHP_INT_MAX, 5);
        add_filter('get_next_post_where', [self::class, 'shows_neighbour'], PHP_INT_MAX, 5);
        add_action('wp', [self::class, 'is_page'], PHP_INT_MAX, 0);
        add_action('rest_api_init', static fn() => self::add('rest'), 0, 0);
        // The header can be sent only when the page is known. A large download is passed on in parts.
        ob_start([self::class, 'send'], BUFFER_BYTES);
    }

    public static function add(string $tag): void
    {
        self::$tags[$tag] = true;
    }

    public static function send(string $output, int $phase): string
    {
        if (self::$tags && ($phase & PHP_OUTPUT_HANDLER_START) && !headers_sent()) {
            $tags = self::header(array_keys(self::$tags));
            // A page that does not say what it shows could not be purged.
            header(strlen($tags) <= MAX_HEADER ? "Cache-Tag: $tags" : 'Cache-Control: no-store', false);
        }
        return $output;
    }

    // The tags as a header, with fewer tags if it is too long.
    private static function header(array $tags): string
    {
        foreach (['post', 'term', 'user'] as $class) {
            if (strlen(implode(',', $tags)) <= MAX_HEADER) {
                break;
            }
            $others = array_filter($tags, static fn($tag) => !str_starts_with($tag, "$class-"));
            $tags = [...$others, "many-{$class}s"];
        }
        return implode(',', $tags);
    }

    public static function is_page(): void
    {
        global $wp_query;
        foreach (['404', 'feed', 'search', 'date'] as $kind) {
            if ($wp_query->{"is_$kind"}) {
                self::add($kind);
            }
        }
        $shown = get_queried_object();
        if ($shown instanceof \WP_Term) {
            self::add("term-$shown->term_taxonomy_id");
            self::add("archive-$shown->term_taxonomy_id");
        } elseif ($shown instanceof \WP_User) {
            self::add("user-$shown->ID");
            self::add("author-$shown->ID");
        } elseif ($shown instanceof \WP_Post) {
            self::shows_post($shown);
        }
    }

    public static function shows_list($query): void
    {
        if ($query->is_singular) {
            return;
        }
        $has_own_tag = $query->is_main_query()
            && ($query->is_category || $query->is_tag || $query->is_tax || $query->is_author);
        // Which posts such a query finds is not known below, so the page depends on all of them.
        $finds_unseen = $query->get('suppress_filters');
        foreach ((array) ($query->get('post_type') ?: 'post') as $type) {
            if (!$has_own_tag && !in_array($type, Changes::GLOBAL_TYPES, true)) {
                self::add($finds_unseen ? "any-$type" : "list-$type");
            }
        }
    }

    public static function shows_posts($posts, $query)
    {
        foreach (is_array($posts) ? $posts : [] as $post) {
            self::shows_post($post);
        }
        return $posts;
    }

    private static function shows_post($post): void
    {
        $post = is_object($post) ? $post : get_post($post);
        if ($post instanceof \WP_Post && !in_array($post->post_type, Changes::GLOBAL_TYPES, true)) {
            self::add("post-$post->ID");
            self::add("user-$post->post_author");
        }
    }

    public static function shows_comments($comments, $query)
    {
        if (empty($query->query_vars['post_id'])) {
            self::add('comments');
        }
        return $comments;
    }

    public static function shows_terms($terms, $taxonomies, $arguments)
    {
        if (empty($arguments['object_ids'])) {
            foreach ((array) $taxonomies as $taxonomy) {
                self::add("terms-$taxonomy");
            }
        }
        return $terms;
    }

    public static function shows_terms_of_post($terms)
    {
        foreach (is_array($terms) ? $terms : [] as $term) {
            self::add("term-$term->term_taxonomy_id");
        }
        return $terms;
    }

    public static function shows_neighbour($where, $in_same_term, $excluded, $taxonomy, $post)
    {
        self::add("list-$post->post_type");
        return $where;
    }
}
