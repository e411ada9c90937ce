<?php
// The users of the site.
namespace Stead\Questions;

final class Users
{
    public static function answer_list(array $question): array
    {
        global $wpdb;
        $where = $wpdb->prepare('u.ID < %d', $question['before']);
        if ($question['role'] !== null) {
            $role = $wpdb->prepare(
                'm.meta_key = %s AND m.meta_value LIKE %s',
                $wpdb->get_blog_prefix() . 'capabilities',
                '%' . $wpdb->esc_like('"' . $question['role'] . '"') . '%'
            );
            $where .= " AND EXISTS (SELECT 1 FROM $wpdb->usermeta m WHERE m.user_id = u.ID AND $role)";
        }
        $limit = (int) $question['limit'];
        $ids = $wpdb->get_col("SELECT u.ID FROM $wpdb->users u WHERE $where ORDER BY u.ID DESC LIMIT $limit");
        cache_users($ids);
        return ['items' => array_map(static fn($id): array => self::view(new \WP_User((int) $id)), $ids)];
    }

    public static function answer_get(array $question): array
    {
        return self::view(self::find($question['id']));
    }

    public static function answer_create(array $question): array
    {
        self::require_role($question['role']);
        $id = succeed(wp_insert_user(self::fields($question) + [
            'user_login' => $question['login'],
            'user_pass' => wp_generate_password(40),
        ]));
        self::set_password($id, $question);
        return self::view(new \WP_User($id));
    }

    public static function answer_update(array $question): array
    {
        $user = self::find($question['id']);
        if (isset($question['role'])) {
            self::require_role($question['role']);
            if ($question['role'] !== 'administrator') {
                self::require_another_administrator($user);
            }
        }
        if ($fields = self::fields($question)) {
            // No mail to the earlier address: the owner of the site has changed it.
            add_filter('send_email_change_email', '__return_false');
            succeed(wp_update_user($fields + ['ID' => $user->ID]));
        }
        self::set_password($user->ID, $question);
        clean_user_cache($user->ID);
        return self::view(new \WP_User($user->ID));
    }

    public static function answer_delete(array $question): array
    {
        require_once ABSPATH . 'wp-admin/includes/user.php';
        $user = self::find($question['id']);
        self::require_another_administrator($user);
        $reassign = $question['reassign'] ?? null;
        if ($reassign !== null && ($reassign === $user->ID || !get_userdata($reassign))) {
            throw new Refused('The user who gets the content does not exist, or is the one to be deleted.');
        }
        if ($reassign === null && ($count = self::count_content($user->ID))) {
            throw new Refused("The user has written $count posts, pages or files. Say in `reassign` who gets them.");
        }
        if (!wp_delete_user($user->ID, $reassign)) {
            throw new Refused('WordPress did not delete the user; a plugin may prevent that.');
        }
        return ['deleted' => true];
    }

    private static function find(int $id): \WP_User
    {
        $user = get_userdata($id);
        if (!$user) {
            throw new NotFound("There is no user $id.");
        }
        return $user;
    }

    private static function count_content(int $user): int
    {
        global $wpdb;
        $sql = "SELECT COUNT(*) FROM $wpdb->posts WHERE post_author = %d AND post_status <> 'auto-draft' AND post_type <> 'revision'";
        return (int) $wpdb->get_var($wpdb->prepare($sql, $user));
    }

    private static function require_role(string $role): void
    {
        if (!wp_roles()->is_role($role)) {
            $known = implode(', ', array_keys(wp_roles()->get_names()));
            throw new Refused("There is no role $role. Roles of this site: $known.");
        }
    }

    private static function require_another_administrator(\WP_User $user): void
    {
        if (!in_array('administrator', $user->roles, true)) {
            return;
        }
        $others = get_users(['role' => 'administrator', 'exclude' => [$user->ID], 'number' => 1, 'fields' => 'ID']);
        if (!$others) {
            throw new Refused('The site needs an administrator, and this is the last one.');
        }
    }

    private static function fields(array $question): array
    {
        $names = [
            'email' => 'user_email', 'role' => 'role', 'display_name' => 'display_name',
            'first_name' => 'first_name', 'last_name' => 'last_name',
        ];
        $fields = [];
        foreach ($names as $name => $field) {
            if (isset($question[$name])) {
                $fields[$field] = $question[$name];
            }
        }
        return $fields;
    }

    private static function set_password(int $id, array $question): void
    {
        global $wpdb;
        if (isset($question['password_hash'])) {
            $wpdb->update($wpdb->users, ['user_pass' => $question['password_hash'], 'user_activation_key' => ''], ['ID' => $id]);
            clean_user_cache($id);
            \WP_Session_Tokens::get_instance($id)->destroy_all();
        }
        if (!empty($question['send_reset_mail'])) {
            succeed(retrieve_password(get_userdata($id)->user_login));
        }
    }

    private static function view(\WP_User $user): array
    {
        return [
            'id' => $user->ID,
            'login' => $user->user_login,
            'email' => $user->user_email,
            'display_name' => $user->display_name,
            'first_name' => (string) $user->first_name,
            'last_name' => (string) $user->last_name,
            'roles' => array_values($user->roles),
            'registered_at' => timestamp($user->user_registered),
        ];
    }
}
