//! Every number that decides something in the judgement of a run, in one table. Each row has a value with its unit, and
//! the cases that the value separates. Each row also has the basis of the value, and the name of a test that depends on
//! the value. `docs/reference/thresholds.md` shows the table of thresholds. "Full", "busy" and "throttled" are defined
//! here and nowhere else.

/// Basis of a threshold's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A measurement of real servers.
    Measured,
    /// A simulation with a known answer.
    Simulated,
    /// A value given by a standard, the kernel, a law or a cited source.
    Given,
    /// A free choice: no evidence shows that another value would be worse.
    Chosen,
}

/// One threshold: a number that decides something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// Part of the judgement that uses the threshold.
    pub group: &'static str,
    /// Name of the constant.
    pub name: &'static str,
    /// Value of the threshold.
    pub value: f64,
    /// Unit of the threshold.
    pub unit: &'static str,
    /// Description of the cases above and below the threshold.
    pub separates: &'static str,
    /// Basis of the value.
    pub basis: Basis,
    /// Explanation of the threshold's basis.
    pub reason: &'static str,
    /// Name of a test that depends on the threshold.
    pub test: &'static str,
    /// Further constants that have the same value as this threshold, because they serve the same purpose. Each entry
    /// has the name of the constant, and the cases that the constant separates.
    pub also: &'static [(&'static str, &'static str)],
}

/// Makes a constant and a row of [`THRESHOLDS`] from each line: name, type, value, unit, separated cases, basis,
/// reason, test. Decisions with the same meaning use the same threshold. If several decisions share a threshold, its
/// further names follow under `also`.
macro_rules! thresholds {
    ($($group:literal { $($name:ident: $type:ty = $value:expr, $unit:literal, $separates:literal,
        $basis:ident, $reason:literal, $test:literal $(, also [$($other:ident, $also:literal),*])?;)* })*) => {
        $($(
            #[doc = concat!("Separates ", $separates, " (", $unit, ").")]
            pub const $name: $type = $value;
            $($(
                #[doc = concat!("Separates ", $also, ". The same number as [`", stringify!($name), "`].")]
                pub const $other: $type = $name;
            )*)?
        )*)*

        /// All thresholds of this crate.
        pub const THRESHOLDS: &[Threshold] = &[$($(Threshold {
            group: $group,
            name: stringify!($name),
            value: $value as f64,
            unit: $unit,
            separates: $separates,
            basis: Basis::$basis,
            reason: $reason,
            test: $test,
            also: &[$($((stringify!($other), $also)),*)?],
        },)*)*];
    };
}

thresholds! {
    "CPUs" {
        FULL_MIDDLE: f64 = 0.87, "share of a CPU or wire", "a full thread, set of CPUs or wire from one with room, at a plateau (at this share, both are equally likely)",
            Simulated, "counters show a full thread 4 % below a whole CPU on average; beside another limit it may show any share", "a_thread_is_the_limit_as_often_as_its_busy_share_says";
        FULL_WIDTH: f64 = 0.03, "share of a CPU", "shares of which one is e times as likely full as the other",
            Simulated, "the best of 2,000 closed networks of one to four stations", "a_thread_is_the_limit_as_often_as_its_busy_share_says";
        ONE_LOAD: f64 = 1.0, "log odds", "a full device at a plateau from one at a single load level",
            Chosen, "a device may happen to be full at just this load level", "the_busy_side_with_the_queue_limits_and_a_side_without_does_not";
        STILL_GROWS: f64 = 2.0, "log odds", "a full device at a plateau from one under a load whose rate still grows",
            Chosen, "twice the doubt of a single load level", "a_thread_of_92_percent_counts_only_where_the_rate_went_flat";
        QUEUE_SAYS: f64 = 1.5, "log odds", "a side that all messages in flight wait for from a side that no message waits for",
            Chosen, "a queue before one side makes the other side 4.5 times less likely", "of_two_full_sides_the_one_before_which_messages_wait_is_it";
        FULL: f64 = 0.95, "share of a CPU", "a thread, process or set of CPUs that is full from one with time left",
            Chosen, "sampling and scheduling leave some percent of a full CPU idle", "every_rule_wins_its_own_run";
        NEARLY_FULL: f64 = 0.9, "share of a CPU, CPU set or descriptor table", "a device that may be what limits from one that has room",
            Chosen, "lower than FULL: a process is idle while an answer travels and the client prepares its next request", "a_full_process_behind_the_server_is_what_it_waits_for", also [
            MEMORY_FULL, "a control group at its memory limit from one below"];
        BUSY: f64 = 0.8, "share of a CPU, host or resource", "a side that is busy nearly all the time from one that is often idle",
            Chosen, "the sources call a host idle below 80 %", "the_busy_side_with_the_queue_limits_and_a_side_without_does_not", also [
            DISK_AWAITED, "a disk that threads always wait for from one they wait for now and then"];
        MOSTLY_RUNS: f64 = 0.6, "share of a CPU", "a thread that mostly ran, and otherwise waited for a CPU, from one that hardly ran",
            Chosen, "a thread that mostly waits is short of CPU, not full", "every_rule_wins_its_own_run";
        WORKS: f64 = 0.05, "share of a CPU, or of the CPU time of all", "a thread, process or part that works from one that only waits",
            Chosen, "timers and housekeeping of an idle thread stay below this share", "every_rule_wins_its_own_run";
        STARVED_WAIT: f64 = 0.3, "share of the time", "a generator that lacks CPU from one that only waits briefly for a CPU",
            Chosen, "in addition, the generator must wait longer than it runs", "a_generator_that_waits_longer_than_it_runs_is_starved", also [
            DISK_STALLED, "workers that wait for a disk that is not full from workers that wait for something else"];
        STARVED_WIDTH: f64 = 0.1, "share", "waits of which one is e times as likely starvation as the other",
            Chosen, "waits of neighbouring windows differ by a tenth", "a_generator_that_waits_longer_than_it_runs_is_starved";
        SEVERAL_CPUS: f64 = 1.5, "CPUs", "a server with one CPU from one with several",
            Chosen, "halfway between one and two; CPU affinities that change within a window are averaged", "a_thread_with_a_whole_cpu_does_not_lack_cpus_though_all_are_full", also [
            SEVERAL_TRIPS, "an upstream that is asked several times per request from one that is asked once",
            ONE_AT_A_TIME, "a server that handles one request at a time from one that handles several"];
        THROTTLED: f64 = 0.25, "share of the periods", "a control group whose quota is the limit from one that is throttled now and then",
            Chosen, "one quota for server, upstream and generator", "a_quota_behind_the_server_is_what_it_waits_for";
        THROTTLED_WIDTH: f64 = 0.05, "share of the periods", "throttled shares of which one is e times as likely the limit as the other",
            Chosen, "windows hold 20 to 100 periods, so a share is known within 5 %", "a_quota_that_ran_out_now_and_then_is_less_sure_than_one_that_always_did", also [
            CEILING_WIDTH, "shares of which one is e times as likely the generator's limit as the other"];
        QUOTA_USED: f64 = 0.7, "share of a quota", "a quota that is used up from one that bursts exhaust",
            Chosen, "bursts leave much of a quota unused; the number only lowers the confidence", "every_rule_wins_its_own_run";
        ONE_CPU: f64 = 1.05, "CPUs", "a process that a lock holds to one running thread from one that runs several",
            Chosen, "one CPU and the difference between counters", "a_full_process_behind_the_server_is_what_it_waits_for";
        MAX_STOLEN: f64 = 0.4, "share of a CPU", "stolen time that is subtracted from \"full\" from stolen time that hides which side is full",
            Chosen, "with more stolen time, the remaining time shows nothing", "a_full_process_behind_the_server_is_what_it_waits_for";
        COMPETE: f64 = 0.7, "share of a host", "client and server that take CPU from each other from those that find a free one",
            Chosen, "below this share, a task that wakes up mostly finds an idle CPU", "only_on_busy_cpus_do_client_and_server_compete";
        OTHERS_USE: f64 = 0.1, "share of a host", "other programs that weaken every verdict from background noise",
            Chosen, "daemons of an idle machine stay below this share", "processes_of_another_namespace_of_the_machine_are_not_other_programs", also [
            DISK_WORKS, "a disk that works from one that idles",
            MEMORY_STALLED, "a host short of memory from a full one that works",
            CPU_WAIT, "threads of a server that wait for a CPU from those that hardly do",
            PAGES_PER_REQUEST, "requests that wait for pages from a server that warms up",
            UNANSWERED, "a trial that Little's law can check from one with many unanswered requests"];
    }
    "Generator" {
        NEAR_CEILING: f64 = 0.8, "share of the generator's own ceiling", "a rate near the generator's limit from the server's",
            Chosen, "with a network, a generator stays below its own rate without a network", "every_rule_wins_its_own_run";
        KEEPS_UP: f64 = 0.95, "share of the offered rate", "an open load that was sent or answered in time from one that fell behind",
            Chosen, "requests at the edges of a window are missing, some percent of all", "every_rule_wins_its_own_run", also [
            KNEE_REACHED, "the number of clients that fills the server from fewer"];
        ALL_ANSWERED: f64 = 0.98, "share of the offered rate", "a paced load whose requests were all answered from one with a backlog",
            Chosen, "only requests at the edges of a window are missing", "losses_that_cost_no_request_stop_nothing", also [
            ALL_OPEN, "a window in which all connections were open from one that began before"];
        STORM_CONNECTS: f64 = 512.0, "connects", "a connection pool that follows its load from one that grew far beyond it",
            Chosen, "a pool may exceed its need by some hundred connections", "every_rule_wins_its_own_run";
    }
    "Queues" {
        QUEUE_IN_FLIGHT: f64 = 8.0, "requests in flight", "a load that can queue from one too small to see a queue",
            Chosen, "with fewer requests, no queue lasts long enough to be sampled", "messages_wait_before_the_slower_side", also [
            HOLDS_MANY, "a process that holds many connections at a time from a worker that handles one (further descriptors under load)",
            SERVES_SOME, "a server that serves only some of its connections from one that has not yet answered the others (answers per answered connection)"];
        QUEUE_RATIO: f64 = 3.0, "times", "the side with the queue from two sides with queues",
            Chosen, "queues of two equally fast sides differ by less", "messages_wait_before_the_slower_side", also [
            TRIP_GREW, "a round trip with a queue from one without",
            ADDRESSES_DIFFER, "an address with far longer response times from one like the others (medians)"];
        FEW_DROPS: f64 = 3.0, "drops", "repeated drops from a single accident",
            Chosen, "two may be chance", "segments_that_a_listener_drops_on_a_lossy_line_are_no_overflow";
        FAR_BEYOND: f64 = 4.0, "times the clients at the plateau", "overload near the limit from overload that fills the queue of any server",
            Chosen, "two doublings past the plateau", "every_rule_is_silent_on_the_others_runs", also [
            FAR, "a prediction beyond the measured loads from an extrapolation"];
        SYN_AGAIN_US: f64 = 900_000.0, "µs", "a connect whose SYN was sent again from a slow one",
            Given, "Linux sends a SYN again after 1 s; a tenth is subtracted", "every_rule_wins_its_own_run";
        SPARE_FDS: f64 = 3.0, "descriptors", "a process without descriptors from one with some left",
            Chosen, "accept() needs one, and many servers keep one or two back", "answers_of_a_server_without_descriptors_are_no_limit_on_purpose";
    }
    "Sweep" {
        FLAT: f64 = 0.05, "growth for twice the clients", "throughput that still grows from throughput that has stopped",
            Given, "source A.8; the search also ends its sweep at this growth", "a_sweep_that_find_would_end_is_flat";
        FLAT_STEPS: u32 = 2, "doublings of the clients", "throughput that stopped growing from one step that was disturbed",
            Simulated, "of 600 searches whose time ended early, fewer are far too low without a word than with one doubling", "a_sweep_that_ended_early_after_one_flat_step_gives_a_lower_bound";
        FLAT_BY_ONE: f64 = 0.02, "growth for one client more",
            "throughput that still grows from throughput that has stopped, if a study adds one client at a time",
            Given, "source A.8, condition (a)", "trials_of_one_condition_are_a_sweep_and_others_are_not_mixed_in";
        REACHED: f64 = 0.97, "share of the highest rate", "the first step at which the server is saturated from the steps before",
            Chosen, "steps at one limit differ by about 3 %", "the_first_step_that_reaches_the_top_decides";
        ASKED_FOR_MORE: f64 = 1.2, "times the best rate of the sweep", "an open loop that asked for more than the sweep from one that did not",
            Chosen, "more than steps at one limit differ", "a_sweep_that_ended_early_is_flat_where_an_overload_brought_no_more";
        PLATEAU_KEPT: f64 = 0.8, "share of the best rate", "a plateau from a server whose throughput falls as load grows",
            Chosen, "a fall of a fifth is no plateau", "a_sweep_that_ended_early_is_flat_where_an_overload_brought_no_more", also [
            UNEVEN, "a generator host that lags from hosts that share the load evenly",
            LOADED, "a trial that shows a loaded server from one whose batches are smaller",
            LEAST_PLACES, "one worker from none: a smaller product Xmax R1 gives no number of workers"];
        BEYOND_BOUND: f64 = 1.1, "times N / R1", "a step that shows R1 to be too high from noise",
            Chosen, "the means of two steps differ by some percent", "a_warning_names_a_rate_above_its_bound";
        ONE_PLACE: f64 = 1.3, "workers, or CPUs", "one request at a time from two",
            Measured, "work outside of the lock and counters from two loads raised the estimate from 1 to at most 1.2", "one_cpu_in_turns_of_eight_threads_is_a_lock";
        SERIAL_CPU: f64 = 0.75, "CPUs", "requests that use the CPU one after another from requests that sleep one after another",
            Chosen, "handing over a lock leaves a CPU idle for some percent; most of the turn must be work", "one_request_at_a_time_that_sleeps_is_no_work_in_turns";
        PLACES_APART: f64 = 0.15, "share of the count", "a count that equals the number of requests at a time from another number",
            Chosen, "travel to the server and the errors of two measurements stay below; 3 and 4 differ by more", "children_that_match_the_places_are_named_and_so_is_a_pool";
        MANY_PLACES: f64 = 2.0, "times the requests at a time", "workers of which most wait from workers that are the limit",
            Chosen, "half of them wait", "if_most_workers_wait_more_workers_are_not_advised", also [
            PILED_UP, "requests that pile up before an upstream from those that a quick answer of it explains"];
        ADDED_WAIT: f64 = 0.25, "share of 1/Xmax", "a response time that grows by queueing from one that grows by something else",
            Chosen, "by Little's law the growth is exact; windows of different length and warm-ups differ by some percent", "a_response_time_that_does_not_grow_shows_no_queue", also [
            POOL_SLOWED, "a server that queued the requests of a full pool from one that answered as fast as without load"];
        COURSE_NOISE: f64 = 2.0, "standard deviations", "a part of a ramp that fell behind from the noise of its arrivals",
            Simulated, "all of 200 simulated ramps of ten parts, whose server kept up, held to the end", "a_ramp_is_held_up_to_the_rate_that_the_server_completes";
        HELD_RATE: f64 = 0.9, "share of the offered rate", "an open loop that held its rate from one that fell behind",
            Chosen, "the share that the objective demands of each window", "an_open_loop_that_falls_behind_does_not_hold", also [
            ALONE_REACHES, "one client that alone reaches the limiter's rate from one that does not",
            POOL_IN_USE, "an open loop that used all its connections from one with some to spare",
            CAPACITY_APART, "a capacity that differs from the highest rate, and is stated beside it, from one that equals it",
            FULL_STEP, "steps of the closed loop at which the server was full from the steps before",
            NEAR_CAPACITY, "windows of a search that show the server at its capacity from windows at lower rates"];
        DEFAULT_MEDIANS: f64 = 10.0, "times the unloaded median", "the default objective on the median",
            Chosen, "a queue of ten requests; the median depends least on pauses of the machine", "without_a_limit_the_unloaded_median_sets_one_that_pauses_do_not_change", also [
            LONG_SILENCE, "a silence of the server from the time of an answer, in medians",
            FAR_SLOWER, "slow answers that form a second peak from the tail of the usual ones (times the median)",
            MAX_PREDICTED_FACTOR, "a predicted speed-up from one of which only \"at least\" is known, since the other parts of a response are not known exactly"];
        NOTICED_US: f64 = 100_000.0, "µs", "the default objective on the slowest answers: a delay that a person notices",
            Given, "J. Nielsen, *Usability Engineering*, 1993", "without_a_limit_the_unloaded_median_sets_one_that_pauses_do_not_change", also [
            OLD_US, "minimum age of a waiting request that counts as held up"];
        DEFAULT_FAR_MEDIANS: f64 = 100.0, "times the unloaded median", "the default objective on the slowest answers of a slow server",
            Chosen, "far above pauses of a machine, far below a packet that is sent again after a second", "without_a_limit_the_unloaded_median_sets_one_that_pauses_do_not_change";
    }
    "Refusals" {
        REFUSED: f64 = 0.01, "share of the answers", "refusals from single failures",
            Chosen, "one in a hundred", "every_rule_wins_its_own_run", also [
            CONNECTS_DROPPED, "a full accept queue from an accident",
            FAILURES_MATTER, "growth of failures that matters",
            LOST, "packet loss that costs throughput from single losses",
            UNANSWERED_P99, "unanswered requests that are the 99th percentile from fewer",
            PROBE_COSTS, "a probe that disturbs from one that does not",
            DELAY_COUNTS, "an added delay that uses up a part of a response-time limit from one that hardly does",
            STOLEN_WINDOW, "a window that a hypervisor spoiled from one that counts"];
        WIDE: f64 = 1.5, "times as many answers", "a rate of good answers that did not grow with the load from a load that did not grow",
            Chosen, "half as much again", "every_rule_wins_its_own_run", also [
            TRIP_QUEUED, "a queue on the way from a window that is too small"];
        ONE_RATE: f64 = 0.15, "share of the middle rate", "a constant rate of good answers from a rate that varies",
            Chosen, "the rates that one limiter lets pass differ by less", "a_starved_generator_does_not_hold_the_good_answers_at_one_rate", also [
            BURSTS_ALIKE, "bursts of good answers that a limit per period lets pass from bursts of different size"];
        ABOVE_LIMITER: f64 = 1.3, "times the middle rate", "a limiter, which no trial exceeds, from a server that failed in some trials only",
            Chosen, "bursts of a token bucket stay below this rate", "a_starved_generator_does_not_hold_the_good_answers_at_one_rate";
        ALL_REFUSED: f64 = 0.999, "share of the answers", "a wrong path or method from a limit",
            Chosen, "a limiter lets some requests pass", "if_no_answer_was_good_the_verdict_says_only_that";
        HELD_BACK: f64 = 1.2, "times the response time", "an answer that a limiter delayed from one that it let pass at once",
            Simulated, "a worker adds its service time to every request; the delay must exceed this time and the error of the mean", "a_limit_that_delays_by_less_than_its_service_is_told_too";
    }
    "Disk and memory" {
        DISK_FULL: f64 = 0.85, "share of the time", "a disk that is full from one with pauses",
            Chosen, "the kernel does not count the time between two requests", "a_disk_with_short_pauses_that_threads_always_wait_for_is_the_limit";
        DISK_FULL_AWAITED: f64 = 0.7, "share of the time",
            "a disk that is full from one with pauses, if at least one thread waits for the disk nearly always",
            Measured, "writes under a file's lock left the disk idle between them", "a_disk_with_short_pauses_that_threads_always_wait_for_is_the_limit";
    }
    "Network" {
        WIRE_BUSY: f64 = 0.667, "share of the rate",
            "a full wire from one with room, while collisions, deferrals, drops or retransmissions rise",
            Given, "source 0: on average two requests in the system, with random arrivals and service", "a_medium_whose_queue_overflows_is_full_and_not_lossy";
        ADDS_1_OVER_X: f64 = 0.1, "share", "a response time that grows by 1/Xmax per client from one that does not",
            Given, "source 3, condition (b): within 10 %", "every_rule_wins_its_own_run";
        FRAMES_COUNT: f64 = 10.0, "frames or segments", "repeated losses from single ones",
            Chosen, "fewer may be chance", "syns_that_the_client_sent_again_count", also [
            LIMIT_HITS, "a memory limit that is hit repeatedly from a single hit"];
        QUEUED_BYTES: f64 = 1500.0, "bytes", "a shaper with a queue from one without",
            Given, "one packet of an Ethernet", "every_rule_wins_its_own_run";
        TRIP_QUEUE_US: f64 = 1000.0, "µs", "packets that wait in the network from packets that wait for a CPU",
            Chosen, "one frame of 10 Mbit/s takes 1.2 ms; the schedulers of idle hosts delay by less", "a_shaped_link_with_a_burst_is_no_limit_on_purpose";
        LOST_MUCH: f64 = 0.03, "share of the segments", "loss that one counter shows with certainty from loss that a second counter must confirm",
            Chosen, "the number only changes the confidence", "every_rule_wins_its_own_run";
        AGAIN_PER_OVERFLOW: f64 = 2.0, "segments for each overflow", "retransmissions that a full accept queue explains from losses in the network",
            Measured, "the client thinks that the connection is established, so its request meets the full queue once more", "drops_of_a_full_accept_queue_are_no_loss_in_the_network";
        RETRANSMISSION_US: f64 = 200_000.0, "µs", "an answer that waited for a segment to be sent again from an answer that did not",
            Given, "Linux: TCP_RTO_MIN, the shortest timer; a lost answer of one segment waits for it", "answers_faster_than_the_retransmission_timer_lost_no_segment";
        STALLS_SEEN: f64 = 0.15, "share of the sending time", "a window that limits the sender from one that does not",
            Measured, "transfers limited by their window alone showed at least 0.24", "the_kernel_undercounts_window_limited_time_under_paced_congestion_control";
        WINDOW_FILLED: f64 = 0.85, "share of the peer's window", "a round trip that carries a whole window from one that does not",
            Chosen, "the last packets of a window are still in the network", "runs_that_only_look_like_a_window_limit_are_not_named";
        FRAMING: f64 = 24.0, "bytes", "bytes of a packet on the wire from those that counters include",
            Given, "preamble 8, check sequence 4, gap 12", "of_two_full_wires_the_one_that_all_clients_share_is_named";
        SEGMENTS_OF_ONE: f64 = 1.5, "data segments per response", "answers of one segment from answers that are written in parts",
            Given, "between one and two", "every_rule_wins_its_own_run";
        SEGMENTS_OF_TWO: f64 = 2.5, "data segments per request",
            "answers of one segment from answers that are written in parts, if one host counts the segments of both ends",
            Given, "between one and two, and one more for the request", "every_rule_wins_its_own_run";
        ACK_TIMER_US: f64 = 40_000.0, "µs", "the delay of an acknowledgement from other delays",
            Given, "Linux: TCP_DELACK_MIN", "every_rule_wins_its_own_run";
        ACK_TIMER_LOW_US: f64 = 38_000.0, "µs", "responses that wait for a delayed acknowledgement from faster ones",
            Given, "Linux delays by 40 ms; less a tick", "every_rule_wins_its_own_run";
        ACK_TIMER_HIGH_US: f64 = 52_000.0, "µs", "responses that wait for a delayed acknowledgement from slower ones",
            Given, "40 ms and the service time of a busy server", "every_rule_wins_its_own_run";
        TIMER_HIDDEN: f64 = 2.2, "times the unloaded median", "a response time that consists of the timer from one that consists of queueing",
            Chosen, "two timers and some service time", "every_rule_wins_its_own_run";
    }
    "Trust" {
        LITTLE_DIFFERS: f64 = 0.05, "share", "a wrong count or time from an error by the edges of a window",
            Chosen, "requests in flight are counted exactly, so only the edges differ", "no_planted_run_prints_two_figures_that_contradict_each_other", also [
            CHARGED_APART, "two sums of CPU time that contradict each other from rounding",
            PAST_XMAX, "a sweep that did not reach the highest rate from noise",
            STILL_DRIFTS, "a rate that still drifts during the warm-up from a steady rate",
            NOT_BACK, "a throughput that did not return after an experiment from noise",
            LEVEL_MATTERS, "growth of memory or descriptors that matters from growth that does not"];
        SENT_LATE_US: f64 = 1000.0, "µs", "a generator that sends late from one on time",
            Chosen, "99 in 100 requests go out within a millisecond", "no_planted_run_prints_two_figures_that_contradict_each_other";
        MORE_THAN_ALL: f64 = 0.02, "share of the CPUs", "counters that contradict each other from rounding",
            Chosen, "beside one tick for each counter", "no_planted_run_prints_two_figures_that_contradict_each_other", also [
            WIRES_ALIKE, "the fuller of two wires from two equally full ones",
            STOLEN_SHARE, "a hypervisor that takes CPU away from one that hardly does",
            AGENT_WORKS, "an agent of the generator that makes load from an idle one"];
        DEMAND_CHANGES: f64 = 0.25, "share", "a cost per request that changes with the load from one that stays",
            Chosen, "caches and batching change the cost by less", "no_planted_run_prints_two_figures_that_contradict_each_other", also [
            TIME_MATTERS, "growth of the response time that matters",
            COST_MATTERS, "growth of the CPU time per answer during a run that matters",
            RATE_MATTERS, "a throughput that changed during a window from one that varied",
            GOES_ON, "growth that goes on from growth that has stopped",
            HARMLESS, "a pause that makes answers late from one that does not"];
        OLDER: f64 = 2.0, "times the longest answer", "a request that something delayed from the tail of the distribution",
            Chosen, "with OLD_US", "a_silence_in_which_nothing_was_completed_is_in_the_headline", also [
            MODEL_MISSES, "a queueing model that fits from one that lacks the resource that delays the requests"];
        SURE: f64 = 0.9, "confidence", "a verdict that missing counters could no longer change from one that they could",
            Chosen, "the word \"sure\" begins there, too", "every_rule_wins_its_own_run", also [
            SUPPORTED, "least confidence of a verdict that an experiment supports"];
        SUREST: f64 = 0.95, "probability", "the greatest confidence by counters alone from confidence that needs an experiment",
            Chosen, "one in twenty remains for causes that no counter shows", "every_rule_wins_its_own_run", also [
            HOLDER_SURE, "what a lock's holder usually does from what few samples show by chance"];
        TWO_SIGNS: f64 = 0.85, "probability", "a cause with a direct sign and a second sign from surer and weaker causes",
            Chosen, "a grade: of seven such verdicts six are right", "every_rule_wins_its_own_run", also [
            QUOTA_SAYS, "greatest confidence by a quota of the generator",
            FAILURES_BELOW, "windows that failed below a capacity, more than held above it, from chance"];
        ONE_SIGN: f64 = 0.8, "probability", "a cause with one direct sign from surer and weaker causes",
            Chosen, "a grade: of five such verdicts four are right", "every_rule_wins_its_own_run", also [
            ROOM_SEEN, "greatest confidence that nothing was full, where the server was watched",
            CEILING_SAYS, "greatest confidence by the generator's rate without a network"];
        WEAK_SIGN: f64 = 0.7, "probability", "a cause whose sign partly fits other causes from surer and weaker causes",
            Chosen, "a grade: of three such verdicts two are right", "every_rule_wins_its_own_run", also [
            QUOTA_UNUSED, "greatest confidence by a quota that was partly unused"];
        INDIRECT: f64 = 0.6, "probability", "a cause that only one side shows, or that a figure contradicts, from surer causes",
            Chosen, "a grade: of five such verdicts three are right", "a_repeat_that_says_otherwise_makes_the_verdict_less_sure", also [
            HOST_ALONE, "greatest confidence that a full host limits, if its processes were not read",
            ROOM_UNSEEN, "greatest confidence that nothing was full, where only the client was watched",
            CONTRADICTED, "greatest confidence of a verdict that a repeat contradicts"];
        FURTHER_SIGN: f64 = 0.05, "probability", "a cause with one more sign from one without",
            Chosen, "the step between two grades", "every_rule_wins_its_own_run";
        HINT: f64 = 0.1, "probability", "a cause that lowers the confidence of others from one that is ruled out",
            Chosen, "nine to one against it", "a_guess_gets_a_share_of_the_remaining_probability";
        GUESS: f64 = 0.33, "probability", "a cause that is named, if no other cause is found, from one that is not named",
            Chosen, "one of three", "a_guess_gets_a_share_of_the_remaining_probability";
        LIKELY: f64 = 0.5, "probability", "a cause that counts as found from a guess",
            Given, "more likely than not", "a_higher_tier_wins_whatever_the_probabilities_are", also [
            LIKELY_HELD, "a window that says a rate cannot be held from one that leaves it open"];
        OTHERS_COST: f64 = 2.0, "confidence per squared share of the CPUs", "a verdict on a machine with other busy programs from one on a quiet machine",
            Simulated, "with a tenth to a quarter of the CPUs used by others, 42 of 42 simulated verdicts were right; with nearly half, two of two live verdicts were wrong", "verdicts_from_exact_counters_stay_sure_beside_other_programs";
        DISTURBED: f64 = 0.3, "confidence", "greatest confidence of a verdict if the server or generator died or stopped",
            Chosen, "a guess", "no_rule_uses_what_was_measured_in_a_trial_that_died";
    }
    "Windows" {
        FEWEST_WINDOWS: usize = 3, "windows, runs or pairs", "enough values to estimate a scatter from too few",
            Given, "with fewer values, Student's t gives no useful interval", "too_little_that_was_repeated_has_no_interval", also [
            LIMIT_READINGS, "a limit of connections from a pause in which the server accepts none"];
        FEWEST_REQUESTS: u64 = 20, "requests", "a request class or kind of handshake with enough requests from one that shows nothing",
            Chosen, "with fewer requests, there is no percentile, and one outlier decides the cost", "a_class_with_errors_fails_and_one_that_held_at_the_highest_load_does_not", also [
            FEWEST_IN_BURST, "a burst of good answers from single answers among refusals",
            FEWEST_SLOW, "slow answers of any load from single slow answers"];
        CATCHES_UP: f64 = 20.0, "times a pause", "time in which a server recovers from a pause from time that counts",
            Simulated, "on a machine with pauses, 92 of 100 intervals held the exact capacity with 12, and 94 with 20", "the_capacity_of_both_sides_is_made_by_one_rule";
        BETWEEN_RUNS: f64 = 0.01, "standard deviation of the logarithm", "the least scatter between runs of one server from a real difference",
            Chosen, "runs rarely differ by less, and the windows of one run cannot show this scatter", "a_single_run_that_was_kept_is_not_believed_beyond_what_runs_differ_by";
        COMPARE_LEVEL: f64 = 0.05, "chance over all figures of a family", "a difference that gets a word from chance, \"the same\" from a change beyond the threshold, and servers that rise and fall together from others",
            Simulated, "equal servers get a word, and servers that are worse by the threshold pass, in at most 5 of 100 comparisons", "equal_servers_get_a_word_in_at_most_five_of_a_hundred_comparisons";
    }
    "Drift" {
        LONG_S: f64 = 30.0, "s", "a window long enough to show drift from one that shows a warm-up",
            Chosen, "most servers have warmed up by then", "a_planted_leak_is_named_with_its_slope";
        TREND_SURE: f64 = 3.29, "standard deviations", "a trend from noise",
            Given, "noise reaches this value once in two thousand times (one side)", "noise_is_hardly_ever_a_trend";
    }
    "Waits inside the server" {
        WAIT_MOSTLY: f64 = 0.5, "share", "a lock that limits a server from one that is contended now and then, and a usual activity from a rare one",
            Chosen, "a lock that limits has waiters nearly all the time (378 of 378 samples); half leaves room for short gaps", "a_lock_that_is_rarely_contended_is_not_named", also [
            HOT_INCLUSIVE, "a function that explains a full CPU with all that it calls from one of several such functions",
            LIMIT_CONNECTS, "connections that carry many requests from connections that each carry one (connects per answer)"];
        WAIT_UNHELD: f64 = 0.1, "share of rounds", "a futex with a holder from a queue that is empty at times",
            Chosen, "a round reads threads up to 1 ms apart, so the holder may change during a round", "a_lock_that_is_rarely_contended_is_not_named";
        WAIT_ACTIVE: f64 = 0.75, "threads", "threads that take turns to hold a lock from idle threads beside an unrelated busy one",
            Chosen, "a held lock has one active holder, except while the lock changes hands", "a_lock_that_is_rarely_contended_is_not_named";
        WAIT_HOLDS_NONE: f64 = 0.25, "requests per waiting thread", "waiting threads without requests from those that may have some; as far below one, from those that hold one each",
            Chosen, "the mean of none (0) and one (1) is 0.5; a quarter on either side stays open", "idle_workers_that_wait_for_one_futex_are_no_lock";
        WAIT_HOLDS_TOO_MANY: f64 = 1.5, "requests per waiting thread", "requests that the waiting threads hold from requests that wait elsewhere",
            Chosen, "twice as far from one as WAIT_HOLDS_NONE from none, since requests also wait between threads", "requests_that_wait_elsewhere_leave_the_cause_open";
        WAIT_FEW: f64 = 0.25, "threads", "no thread from a thread that is present at times",
            Chosen, "a quarter of the time of one thread", "an_event_loop_that_sleeps_while_requests_wait_is_a_blocking_call";
        WAIT_QUEUE: f64 = 0.5, "requests", "a queue from none",
            Chosen, "one request that waits half of the time", "one_thread_that_computes_while_requests_wait_is_serial";
        WAIT_POOL_BUSY: f64 = 0.9, "share of connections", "a connection pool that is used up from one with free connections",
            Chosen, "a connection is free for a moment between two requests", "workers_that_sleep_or_wait_for_a_peer_are_told", also [
            HOT_EVERYTHING, "a loop that runs all work of its threads from a function beside others"];
        HOT_SHARE: f64 = 0.2, "share of user CPU time", "a function that explains a full CPU from one among many",
            Chosen, "removal of a function with a fifth of the CPU time gives at most a quarter more throughput", "one_function_among_many_is_not_named";
    }
    "Experiment" {
        CURVATURE: f64 = 2.0, "curvature of throughput in the speeds", "the systematic error of an elasticity",
            Simulated, "1 for one client, 1.9 to 2.1 in networks of one to four stations", "intervals_cover_the_exact_elasticities_of_networks";
        SKEWED: f64 = 1.12, "factor", "the scatter of blocks at a fixed rate, widened",
            Simulated, "without this factor, only 91 of 100 intervals held the truth", "intervals_cover_the_exact_shares_of_open_networks";
        BUSIEST: f64 = 0.95, "utilization", "a queue whose response time shows its utilization from one too close to saturation",
            Chosen, "near saturation, the response time is not known exactly enough for a higher utilization", "the_response_time_shows_the_utilization_at_a_rate";
        MOST: f64 = 0.5, "share of the whole", "a resource that limits the server from one that only takes part",
            Given, "the parts add up to 1, so no other part is larger", "a_verdict_whose_prediction_came_true_is_proven", also [
            MOST_FAIL, "a trial with mostly failures from one with mostly good answers",
            COUNTED_LOAD, "a load (as a share of the highest) that shows the usual CPU use of other programs from lighter ones",
            SPOILED, "a window that other programs mostly disturbed, which is repeated, from one that counts",
            STARVED_SHARE, "a generator that waits longer than it runs from one that runs longer",
            DELAY_SHARE, "a generator whose waits for a CPU make up most of the response time from one whose waits do not",
            LONG_WINDOW, "windows long enough (as a share of the longest) to show the rate of a limiter from shorter ones",
            QUEUE_SHARE, "a side that messages wait for from one that they pass at once",
            TRIP_SHARE, "a queue in the network from one in the server",
            DROPS_EXPLAIN, "retransmissions after drops by a full queue from other losses",
            STORM_SHARE, "a connect storm from connects that carry requests",
            ACKS_BY_TIMER, "requests that wait for the acknowledgement timer from rare timers",
            WINDOW_WAIT, "a window that requests wait for most of their time from one that matters less",
            UNREAD, "a slow reader from a small window",
            DISK_PRESSURE, "a full disk that threads wait for from a full disk that nothing waits for",
            DOSE_GIVEN, "a lever that took its planned dose from one that was kept from its resource",
            HALF_BUSY, "a server that needs its CPUs from one that hardly uses them, where others fill the same CPUs",
            LINK_USED, "a link with a known rate that is full from one beside a link whose rate is not known",
            BURST_TIME, "a burst that refusals follow for a longer time from one that they follow for a moment",
            MACHINE_SLOWER, "a machine that became slower from a server that did (growth of the generator's CPU time per answer, as a share of the server's)",
            MUCH_LOWER, "a trial (by its share of the rate) that shows which CPU use is not the load's from one with about the same load",
            HALF_USED, "a resource whose cost per request shows when it is full from one whose cost is mostly wake-ups",
            OWN_BYTES, "a disk or link that carries the bytes of this load from one that other programs fill",
            MOST_SHAKE, "requests with handshakes of their own from requests on kept connections",
            MOST_RESUME, "windows of resumed handshakes from windows of full ones",
            BUFFER_FILLED, "a send buffer that limits its sender from one with room",
            COMMON_RATE_SHARE, "a rate for all servers, as a share of the smallest capacity, from one at which the slowest has a queue"];
        EXCLUDED: f64 = 0.3, "share of the whole", "a resource that a lever excludes from one that may limit",
            Simulated, "in networks of one to four stations whose largest demand is 1.25 times the next, its elasticity is at least 0.5", "a_bottleneck_is_never_excluded";
        EXCESS: f64 = 0.25, "share of the whole", "parts whose sum exceeds 1 by the cost of a lever from parts that are not independent",
            Measured, "a quota of a fifth of a CPU gave 1.11 (1.01 to 1.21): the fixed work in each period makes the remaining work more expensive", "a_single_part_slightly_above_one_is_a_proof";
        ASTRAY: f64 = 0.1, "share of the throughput", "a throughput that the model predicts from one that it does not",
            Chosen, "the error of the prediction at a dose of a quarter, with half of CURVATURE", "shares_do_not_prove_what_throughput_contradicts";
        ONE_THREAD: f64 = 0.8, "share of the server's CPU time", "a thread that does nearly all the work from work that moves between threads",
            Chosen, "housekeeping threads take less than a fifth", "serial_work_on_the_cpu_is_told_from_full_cpus";
        SHOWN: f64 = 0.95, "confidence", "least confidence of a verdict that an experiment proves",
            Chosen, "a proven verdict is also called \"sure\"", "a_verdict_whose_prediction_came_true_is_proven";
        CLOSE: f64 = 0.6, "confidence", "greatest confidence of a verdict that an experiment contradicts, or of a CPU limit that only the experiment shows and whose kind is open",
            Chosen, "such a verdict is possible, not sure", "an_open_experiment_takes_nothing_from_counters_that_are_sure";
        ALIKE: f64 = 0.5, "share of the dose on its own resource", "a lever that slows another resource as well from one of two that slow the same CPUs",
            Chosen, "up to this share, the division at most doubles an error in a dose", "levers_on_the_same_cpus_tell_the_sum_and_a_bound";
        UNDECIDED: f64 = 0.75, "confidence", "greatest confidence of an unsure verdict after an experiment that left the parts, or the kind of the CPU limit, open",
            Simulated, "of 2,000 simulated networks: right in 15 of 16 verdicts whose resource explained less than half, and in 12 of 12 CPU limits whose kind stayed open", "an_open_experiment_takes_nothing_from_counters_that_are_sure";
        UNWANTED: f64 = 0.15, "share of the time", "a resource that the server hardly uses from one that it needs",
            Chosen, "an elasticity is at most the utilization", "the_elasticity_of_a_resource_is_at_most_its_utilization";
    }
    "History" {
        HISTORY_RESOLUTION: f64 = 0.001, "relative", "a figure that changed from one that rounding changed",
            Given, "histograms keep three significant digits", "a_step_below_the_resolution_is_no_change";
        CHANGE_LEVEL: f64 = stats::change_points::LEVEL, "chance at one place", "a change of a stored figure from chance",
            Simulated, "Hunter's 0.001 finds as many true changes, and three times as many false ones: the place of a change is chosen where the difference is largest", "equal_runs_fail_rarely";
    }
}
