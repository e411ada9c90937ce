<?php
// Runs the scheduled events that are due. The node requests it, about once a minute while events are due; visitors cannot.
ignore_user_abort(true);
set_time_limit(0);

// One run at a time. The lock ends with the process.
$stead_lock = fopen('/tmp/.stead-cron', 'c');
if (!$stead_lock || !flock($stead_lock, LOCK_EX | LOCK_NB)) {
    echo json_encode(['busy' => true]);
    exit;
}

define('DOING_CRON', true);
require '/srv/site/wp-load.php';

(static function (): void {
    $until = microtime(true) + 60;
    [$run, $failed] = [0, 0];
    // The node learns also without a change when the next event is due.
    Stead\Schedule::changed();
    foreach (wp_get_ready_cron_jobs() as $time => $hooks) {
        foreach ($hooks as $hook => $events) {
            foreach ($events as $event) {
                if (microtime(true) > $until) {
                    break 3;
                }
                // WordPress stores all events in one value. Another request may have added some since it was read.
                wp_cache_delete('alloptions', 'options');
                wp_cache_delete('cron', 'options');
                // Before it is run: an event that ends the process must not be run again at once.
                if ($event['schedule']) {
                    try {
                        wp_reschedule_event($time, $event['schedule'], $hook, $event['args']);
                    } catch (Throwable $error) {
                        // The interval of its schedule is none, as a plugin has declared it.
                        error_log(sprintf('cron: %s will be run in an hour: %s', $hook, $error->getMessage()));
                        wp_schedule_event(time() + HOUR_IN_SECONDS, $event['schedule'], $hook, $event['args']);
                    }
                }
                wp_unschedule_event($time, $hook, $event['args']);
                $run++;
                try {
                    do_action_ref_array($hook, $event['args']);
                } catch (Throwable $error) {
                    $failed++;
                    error_log(sprintf('cron: %s failed: %s in %s:%d', $hook, $error->getMessage(), $error->getFile(), $error->getLine()));
                }
            }
        }
    }
    echo "\n", json_encode(['done' => true, 'run' => $run, 'failed' => $failed]), "\n";
})();
