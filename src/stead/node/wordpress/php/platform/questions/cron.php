<?php
// Scheduled events. The platform runs them; WordPress only stores them.
namespace Stead\Questions;

final class Events
{
    // WordPress reads all events for each visitor. Plugins may store more, but nobody else.
    private const MAX_EVENTS = 1000;
    private const MAX_BYTES = 262144;
    private const MAX_LISTED = 5000;

    // The next ones first.
    public static function answer_list(array $question): array
    {
        return ['events' => array_map([self::class, 'view'], array_slice(array_values(self::all()), 0, self::MAX_LISTED))];
    }

    public static function answer_get(array $question): array
    {
        return self::view(self::find($question['id']));
    }

    public static function answer_create(array $question): array
    {
        self::require_room($question['args']);
        self::schedule($question['hook'], $question['args'], $question['recurrence'], $question['time']);
        return self::view(self::latest($question['hook'], $question['args'], $question['recurrence']));
    }

    public static function answer_update(array $question): array
    {
        $event = self::find($question['id']);
        $args = $question['args'] ?? $event['raw'];
        $changed = isset($question['recurrence']) || isset($question['time']);
        $recurrence = $changed ? $question['recurrence'] : $event['recurrence'];
        $time = $question['time'] ?? ($changed ? null : $event['time']);
        self::require_recurrence($recurrence);
        if (isset($question['args'])) {
            self::require_room($args);
        }
        succeed(wp_unschedule_event($event['time'], $event['hook'], $event['raw'], true));
        self::schedule($event['hook'], $args, $recurrence, $time);
        return self::view(self::latest($event['hook'], $args, $recurrence));
    }

    public static function answer_delete(array $question): array
    {
        $event = self::find($question['id']);
        succeed(wp_unschedule_event($event['time'], $event['hook'], $event['raw'], true));
        return ['deleted' => true];
    }

    private static function require_room(array $args): void
    {
        $count = count(self::all());
        if ($count >= self::MAX_EVENTS) {
            throw new Refused("The site has $count events. Delete events that are not needed.");
        }
        if (strlen(serialize(_get_cron_array())) + strlen(serialize($args)) > self::MAX_BYTES) {
            throw new Refused('The arguments of all events of the site are too long.');
        }
    }

    private static function schedule(string $hook, array $args, ?string $recurrence, ?int $time): void
    {
        if ($recurrence === null) {
            succeed(wp_schedule_single_event($time, $hook, $args, true));
            return;
        }
        self::require_recurrence($recurrence);
        $time ??= time() + wp_get_schedules()[$recurrence]['interval'];
        succeed(wp_schedule_event($time, $recurrence, $hook, $args, true));
    }

    private static function require_recurrence(?string $name): void
    {
        if ($name !== null && !isset(wp_get_schedules()[$name])) {
            $known = implode(', ', array_keys(wp_get_schedules()));
            throw new Refused("There is no recurrence $name. Recurrences of this site: $known.");
        }
    }

    private static function find(string $id): array
    {
        return self::all()[$id] ?? throw new NotFound('There is no such event.');
    }

    private static function latest(string $hook, array $args, ?string $recurrence): array
    {
        $matching = array_filter(
            self::all(),
            static fn(array $event): bool => $event['hook'] === $hook && $event['raw'] == $args && $event['recurrence'] === $recurrence
        );
        return end($matching) ?: throw new Refused('WordPress did not store the event; a plugin may prevent that.');
    }

    // By identifier, the next one first. A repeated event keeps its identifier from run to run.
    private static function all(): array
    {
        $found = [];
        foreach (_get_cron_array() ?: [] as $time => $hooks) {
            foreach (is_array($hooks) ? $hooks : [] as $hook => $events) {
                foreach (is_array($events) ? $events : [] as $signature => $event) {
                    $recurrence = is_string($event['schedule'] ?? null) ? $event['schedule'] : null;
                    $moment = $recurrence === null ? (string) $time : '';
                    $number = 0;
                    do {
                        $id = identifier('cron', '', (string) $hook, (string) $signature, $recurrence ?? '', $moment, (string) $number++);
                    } while (isset($found[$id]));
                    $found[$id] = [
                        'id' => $id,
                        'hook' => (string) $hook,
                        'recurrence' => $recurrence,
                        'time' => (int) $time,
                        'interval' => isset($event['interval']) ? (int) $event['interval'] : null,
                        'args' => array_values((array) ($event['args'] ?? [])),
                        // As they are stored: the keys belong to the name of the event.
                        'raw' => (array) ($event['args'] ?? []),
                    ];
                }
            }
        }
        return $found;
    }

    private static function view(array $event): array
    {
        return array_diff_key($event, ['raw' => 1]);
    }
}
