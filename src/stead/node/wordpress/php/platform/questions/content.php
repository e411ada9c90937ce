<?php
// Posts, pages and media.
namespace Stead\Questions;

final class Content
{
    private const TYPES = ['post' => 'post', 'page' => 'page', 'media' => 'attachment'];
    private const ROUTES = ['post' => '/wp/v2/posts', 'page' => '/wp/v2/pages', 'media' => '/wp/v2/media'];
    private const LISTED = ['publish', 'draft', 'pending', 'private', 'future', 'inherit'];

    // Newest first. A post that is added meanwhile has a higher number, so it moves nothing.
    public static function answer_list(array $question): array
    {
        global $wpdb;
        $types = $question['type'] ? [self::TYPES[$question['type']]] : array_values(self::TYPES);
        $statuses = match ($question['status']) {
            null => self::LISTED,
            'publish' => ['publish', 'inherit'],
            default => [$question['status']],
        };
        $values = [...$types, ...$statuses, $question['before'], $question['limit']];
        $marks = static fn(array $list): string => implode(', ', array_fill(0, count($list), '%s'));
        $ids = $wpdb->get_col($wpdb->prepare(
            "SELECT ID FROM $wpdb->posts WHERE post_type IN ({$marks($types)}) AND post_status IN ({$marks($statuses)})"
            . ' AND ID < %d ORDER BY ID DESC LIMIT %d',
            $values
        ));
        _prime_post_caches($ids, false, false);
        return ['items' => array_map(static fn($id): array => self::item(get_post((int) $id)), $ids)];
    }

    public static function answer_get(array $question): array
    {
        return self::detail(self::find($question['id']));
    }

    public static function answer_create(array $question): array
    {
        act_as_administrator();
        if ($question['type'] === 'media') {
            return self::add_file($question);
        }
        $terms = self::terms_to_set($question['type'], $question['terms'] ?? []);
        $post = self::send(self::ROUTES[$question['type']], $question + ['author' => get_current_user_id()]);
        return self::finish($post, $terms);
    }

    public static function answer_update(array $question): array
    {
        act_as_administrator();
        $post = self::find($question['id']);
        $type = array_search($post->post_type, self::TYPES, true);
        $terms = self::terms_to_set($type, $question['terms'] ?? []);
        if ($post->post_status === 'trash' && isset($question['status'])) {
            succeed(wp_untrash_post($post->ID) ?: new \WP_Error('untrash', 'WordPress could not restore it.'));
        }
        unset($question['id']);
        if (array_diff_key($question, ['terms' => 1])) {
            $post = self::send(self::ROUTES[$type] . "/$post->ID", $question);
        }
        return self::finish(get_post($post->ID), $terms);
    }

    // As in WordPress: first into the trash, and from there for good. Media have no trash.
    public static function answer_delete(array $question): array
    {
        act_as_administrator();
        $post = self::find($question['id']);
        $done = match (true) {
            $post->post_type === 'attachment' => wp_delete_attachment($post->ID, true),
            $post->post_status === 'trash' => wp_delete_post($post->ID, true),
            default => wp_trash_post($post->ID),
        };
        if (!$done) {
            throw new Refused('WordPress did not delete it; a plugin may prevent that.');
        }
        return ['trashed' => $post->post_type !== 'attachment' && $post->post_status !== 'trash'];
    }

    // WordPress decides by the name and the content whether it accepts the file, as for one that a person uploads.
    private static function add_file(array $question): array
    {
        foreach (['file', 'image', 'media'] as $part) {
            require_once ABSPATH . "wp-admin/includes/$part.php";
        }
        $file = wp_tempnam($question['filename']);
        try {
            write_file($file);
            $values = array_filter([
                'post_title' => $question['title'],
                'post_content' => $question['content'],
                'post_excerpt' => $question['excerpt'] ?? '',
                'post_author' => $question['author'] ?? get_current_user_id(),
            ]);
            $given = ['name' => $question['filename'], 'tmp_name' => $file];
            $parent = (int) ($question['parent'] ?? 0);
            return self::detail(get_post(succeed(media_handle_sideload($given, $parent, null, wp_slash($values)))));
        } finally {
            if (is_file($file)) {
                unlink($file);
            }
        }
    }

    private static function find(int $id): \WP_Post
    {
        $post = get_post($id);
        if (!$post || !in_array($post->post_type, self::TYPES, true) || $post->post_status === 'auto-draft') {
            throw new NotFound("There is no post, page or file $id.");
        }
        return $post;
    }

    private static function send(string $route, array $values): \WP_Post
    {
        $request = new \WP_REST_Request('POST', $route);
        $same = ['title', 'content', 'excerpt', 'slug', 'status', 'author', 'featured_media', 'parent', 'meta', 'alt_text'];
        $given = array_intersect_key($values, array_flip($same));
        if (isset($values['date'])) {
            $given['date_gmt'] = $values['date'];
        }
        $request->set_body_params($given);
        $response = rest_do_request($request);
        succeed($response->is_error() ? $response->as_error() : null);
        return get_post((int) $response->get_data()['id']);
    }

    // Checked before anything is changed.
    private static function terms_to_set(string $type, array $given): array
    {
        $known = get_object_taxonomies(self::TYPES[$type]);
        foreach ($given as $taxonomy => $terms) {
            if (!in_array($taxonomy, $known, true)) {
                throw new Refused("A $type has no taxonomy $taxonomy.");
            }
            foreach ($terms as $term) {
                if (is_int($term) && !term_exists($term, $taxonomy)) {
                    throw new Refused("There is no term $term in $taxonomy.");
                }
            }
        }
        return $given;
    }

    private static function finish(\WP_Post $post, array $terms): array
    {
        foreach ($terms as $taxonomy => $wanted) {
            $ids = [];
            foreach ($wanted as $term) {
                $found = is_int($term) ? $term : (term_exists($term, $taxonomy) ?: succeed(wp_insert_term($term, $taxonomy)));
                $ids[] = (int) (is_array($found) ? $found['term_id'] : $found);
            }
            succeed(wp_set_object_terms($post->ID, $ids, $taxonomy));
        }
        clean_post_cache($post->ID);
        return self::detail(get_post($post->ID));
    }

    private static function item(\WP_Post $post): array
    {
        return [
            'id' => $post->ID,
            'type' => array_search($post->post_type, self::TYPES, true),
            'status' => $post->post_status === 'inherit' ? 'publish' : $post->post_status,
            'title' => $post->post_title,
            'slug' => $post->post_name,
            'modified_at' => timestamp($post->post_modified_gmt),
            'date' => timestamp($post->post_date_gmt),
            'author' => (int) $post->post_author,
            'url' => (string) get_permalink($post),
        ];
    }

    private static function detail(\WP_Post $post): array
    {
        $terms = [];
        foreach (get_object_taxonomies($post->post_type) as $taxonomy) {
            $found = get_the_terms($post, $taxonomy);
            foreach (is_array($found) ? $found : [] as $term) {
                $terms[$taxonomy][] = ['id' => $term->term_id, 'name' => $term->name, 'slug' => $term->slug];
            }
        }
        $is_media = $post->post_type === 'attachment';
        return self::item($post) + [
            'content' => $post->post_content,
            'excerpt' => $post->post_excerpt,
            'parent' => (int) $post->post_parent,
            'featured_media' => (int) get_post_thumbnail_id($post),
            'terms' => (object) $terms,
            'meta' => (object) self::meta($post),
            'mime_type' => $is_media ? (string) $post->post_mime_type : '',
            'file_url' => $is_media ? (string) wp_get_attachment_url($post->ID) : '',
        ];
    }

    // Only what plugins have registered for the REST API.
    private static function meta(\WP_Post $post): array
    {
        $found = [];
        $registered = get_registered_meta_keys('post') + get_registered_meta_keys('post', $post->post_type);
        foreach ($registered as $name => $options) {
            if (!empty($options['show_in_rest'])) {
                $found[$name] = get_post_meta($post->ID, $name, !empty($options['single']));
            }
        }
        return $found;
    }
}
