<?php
// When the next scheduled event is due. The platform runs events, also while the site sleeps, so the node must know.
namespace Stead;

final class Schedule
{
    private const LOCK_SECONDS = 10;

    private static bool $changed = false;

    public static function watch(): void
    {
        add_filter('pre_reschedule_event', [self::class, 'reschedule'], PHP_INT_MAX, 3);
        add_filter('pre_update_option_cron', [self::class, 'merge'], PHP_INT_MAX, 2);
        add_action('update_option_cron', [self::class, 'unlock'], PHP_INT_MIN, 0);
        foreach (['add_option_cron', 'update_option_cron', 'delete_option_cron'] as $hook) {
            add_action($hook, [self::class, 'changed'], PHP_INT_MAX, 0);
        }
    }

    public static function changed(): void
    {
        self::$changed = true;
    }

    // Whoever runs a repeated event schedules it again, and then removes it at the time for which it was scheduled. If that is also
    // its new time, nothing is left: an event that WP-CLI runs in the second in which it was created would be lost.
    public static function reschedule($done, $event, $wp_error = false)
    {
        if ($done !== null || !is_numeric($event->interval) || $event->interval <= 0) {
            return $done;
        }
        // Schedules may have intervals with a fraction, which WordPress cuts off. A second may begin meanwhile.
        $ahead = (int) $event->timestamp - (int) (time() + $event->interval);
        if ($ahead !== 0 && $ahead !== 1) {
            return $done;
        }
        return wp_schedule_event($event->timestamp + 1, $event->schedule, $event->hook, $event->args, $wp_error);
    }

    // WordPress stores all events in one value. A request reads it when it begins, and writes all of it when it changes one event:
    // what other requests have changed meanwhile would be lost. So only the change of this request is made, to what is stored now.
    public static function merge($wanted, $before)
    {
        global $wpdb;
        if (!is_array($wanted) || !is_array($before) || $wanted === $before) {
            return $wanted;
        }
        // Until it is written. A request that waits for too long goes on: the change of another may then be lost.
        $wpdb->query($wpdb->prepare('DO GET_LOCK(%s, %d)', self::lock_name(), self::LOCK_SECONDS));
        $row = $wpdb->get_var("SELECT option_value FROM $wpdb->options WHERE option_name = 'cron' FOR UPDATE");
        $stored = maybe_unserialize($row);
        $merged = is_array($stored) && $stored !== $before ? self::combine($before, $wanted, $stored) : $wanted;
        if (maybe_serialize($merged) === $row) {
            // WordPress writes nothing then, and calls no hook.
            self::unlock();
        }
        return $merged;
    }

    public static function unlock(): void
    {
        global $wpdb;
        $wpdb->query($wpdb->prepare('DO RELEASE_LOCK(%s)', self::lock_name()));
    }

    // All sites of a server share the names of locks, so it must be one that others cannot guess.
    private static function lock_name(): string
    {
        return 'cron-' . hash('sha224', AUTH_KEY . DB_NAME);
    }

    private static function combine(array $before, array $wanted, array $stored): array
    {
        $before = self::list_events($before);
        $wanted = self::list_events($wanted);
        $events = self::list_events($stored);
        foreach (array_diff_key($before, $wanted) as $name => $removed) {
            unset($events[$name]);
        }
        foreach ($wanted as $name => $event) {
            if (!isset($before[$name]) || $before[$name] !== $event) {
                $events[$name] = $event;
            }
        }
        $merged = [];
        foreach ($events as [$time, $hook, $key, $event]) {
            $merged[$time][$hook][$key] = $event;
        }
        uksort($merged, 'strnatcasecmp');
        return $merged + ['version' => $stored['version'] ?? 2];
    }

    // Each event with its time, its hook and the key of its arguments.
    private static function list_events(array $cron): array
    {
        $events = [];
        foreach ($cron as $time => $hooks) {
            foreach (is_array($hooks) ? $hooks : [] as $hook => $keys) {
                foreach (is_array($keys) ? $keys : [] as $key => $event) {
                    $events[serialize([$time, $hook, $key])] = [$time, $hook, $key, $event];
                }
            }
        }
        return $events;
    }

    // `once` is the next event that is not repeated, such as the publication of a post: it is run in time even if the site
    // sleeps.
    public static function message(): array
    {
        if (!self::$changed) {
            return [];
        }
        self::$changed = false;
        // Another request may have added events since this one has read them.
        wp_cache_delete('alloptions', 'options');
        wp_cache_delete('cron', 'options');
        $next = $once = null;
        foreach (_get_cron_array() ?: [] as $time => $hooks) {
            foreach (is_array($hooks) ? $hooks : [] as $events) {
                foreach (is_array($events) ? $events : [] as $event) {
                    $next ??= (int) $time;
                    if (empty($event['schedule'])) {
                        $once ??= (int) $time;
                    }
                }
            }
        }
        return ['cron' => ['next' => $next, 'once' => $once]];
    }
}
