//! Comparisons of simulated servers in virtual time.

use run::{ArenaAnswer, ArenaCapacity, ArenaEntry, ArenaPlan, ArenaProfile, ArenaRefusal, ArenaRefusalKind};

use super::*;

/// A simulated server.
#[derive(Clone, Copy, Default)]
struct Server {
    cpu_us: f64,
    body_bytes: u64,
    /// Number of steps after which the server's answers become one byte shorter; 0 for never.
    short_after: usize,
    no_build: bool,
    by_generator: bool,
}

/// Simulated servers with a virtual clock, and a user who stops the comparison after `stop_after` steps.
struct Simulated {
    servers: Vec<Server>,
    now_s: f64,
    steps: usize,
    stop_after: usize,
    /// Difference between the largest and the smallest CPU time that turns of one server may have, as a share.
    scatter: f64,
    random: fastrand::Rng,
    saved: ArenaState,
}

impl Simulated {
    fn new(servers: &[Server], stop_after: usize) -> Self {
        let (random, servers) = (fastrand::Rng::with_seed(stop_after as u64), servers.to_vec());
        Self { servers, now_s: 0.0, steps: 0, stop_after, scatter: 0.004, random, saved: ArenaState::default() }
    }

    fn answer(&self, server: Server) -> ArenaAnswer {
        let is_short = server.short_after > 0 && self.steps > server.short_after;
        let body_bytes = Some(server.body_bytes - u64::from(is_short));
        ArenaAnswer { status: 200, body_bytes, text: "x".into(), ..ArenaAnswer::default() }
    }

    fn step(&mut self, seconds: f64) {
        (self.now_s, self.steps) = (self.now_s + seconds, self.steps + 1);
    }
}

impl ArenaConductor for Simulated {
    fn elapsed_s(&self) -> f64 {
        self.now_s
    }

    fn stopped(&self) -> bool {
        self.steps > self.stop_after
    }

    fn progress(&mut self, _: &str, _: f64) {}

    fn build(&mut self, entry: usize) -> Result<(), String> {
        if self.servers[entry].no_build { Err("exit status: 1: no compiler".into()) } else { Ok(()) }
    }

    fn search(
        &mut self,
        place: ArenaPlace,
        budget_s: f64,
        refuse: &dyn Fn(&[ArenaAnswer]) -> Option<ArenaRefusal>,
    ) -> ArenaSearch {
        let server = self.servers[place.entry];
        let answer = self.answer(server);
        let found = ArenaSearch { answer: Some(answer.clone()), start_s: 0.1, ..ArenaSearch::default() };
        if let Some(refused) = refuse(std::slice::from_ref(&answer)) {
            self.step(0.2);
            return ArenaSearch { refused: Some(refused), ..found };
        }
        self.step(budget_s + 0.3);
        let rate = 1e6 / server.cpu_us;
        let text = "the generator was the limit".to_owned();
        let refused = server.by_generator.then_some(ArenaRefusal { kind: ArenaRefusalKind::Generator, text });
        let capacity = Some(ArenaCapacity { rate, low: 0.97 * rate, high: 1.03 * rate });
        ArenaSearch { capacity, refused, bottleneck: Some("server-cpu".into()), ..found }
    }

    fn turn(
        &mut self,
        place: ArenaPlace,
        turn: TurnPlan,
        refuse: &dyn Fn(&[ArenaAnswer]) -> Option<ArenaRefusal>,
    ) -> ArenaTurn {
        self.step(turn.window_s + 1.0);
        if let Some(refused) = refuse(&[self.answer(self.servers[place.entry])]) {
            return ArenaTurn { refused: Some(refused), ..ArenaTurn::default() };
        }
        let cpu_us = self.servers[place.entry].cpu_us * (1.0 + self.scatter * (self.random.f64() - 0.5));
        ArenaTurn { cpu_us: Some(cpu_us), ..ArenaTurn::default() }
    }

    fn save(&mut self, state: &ArenaState) -> Result<(), LabError> {
        self.saved = state.clone();
        Ok(())
    }
}

fn server(cpu_us: f64) -> Server {
    Server { cpu_us, body_bytes: 100, ..Server::default() }
}

fn state(servers: &[Server], budget_s: f64) -> ArenaState {
    let entry = |i: usize| ArenaEntry { name: format!("s{i}"), ..ArenaEntry::default() };
    let plan = ArenaPlan {
        entries: (0..servers.len()).map(entry).collect(),
        profiles: vec![ArenaProfile { name: "hello".into(), ..ArenaProfile::default() }],
        ..ArenaPlan::default()
    };
    ArenaState { plan, budget_s, seed: 5, ..ArenaState::default() }
}

fn cell(state: &ArenaState, entry: &str) -> run::ArenaCell {
    let cells = judge::arena::result(state).cells;
    cells.into_iter().find(|cell| cell.entry == entry).unwrap()
}

#[test]
fn servers_are_ranked_and_the_budget_is_kept() {
    let servers = [server(40.0), server(20.0), server(30.0)];
    let (mut state, mut arena) = (state(&servers, 120.0), Simulated::new(&servers, usize::MAX));
    conduct(&mut state, &mut arena).unwrap();
    assert!(state.done && (60.0..=120.0).contains(&arena.now_s), "{}", arena.now_s);
    assert_eq!(["s0", "s1", "s2"].map(|name| cell(&state, name).group), [Some(3), Some(1), Some(2)]);
    let result = judge::arena::result(&state);
    assert!(result.profiles[0].rounds >= 7, "{:?}", result.profiles);
    let half = 0.5 * 0.97 * 25_000.0;
    assert!((result.profiles[0].common_rate.unwrap() / half - 1.0).abs() < 1e-9);
    assert_eq!((result.noise[0].entry.as_str(), result.noise[0].pairs), ("s0", result.profiles[0].rounds));
    assert_eq!(arena.saved, state);
}

/// Ten servers take part in comparisons of ten minutes. The servers' turns scatter by up to 1 % to both sides.
#[test]
fn ten_servers_from_20_to_22_us_come_out_in_planted_order_and_groups() {
    let costs = [21.0, 22.0, 20.0, 22.0, 20.0, 21.0, 20.0, 22.0, 21.0, 21.0];
    let servers = costs.map(server);
    let planted = |entry: &str| costs[entry[1..].parse::<usize>().unwrap()];
    let is_right = |seed: &u64| {
        let mut state = ArenaState { seed: *seed, ..state(&servers, 600.0) };
        let random = fastrand::Rng::with_seed(1000 + seed);
        let mut arena = Simulated { scatter: 0.02, random, ..Simulated::new(&servers, usize::MAX) };
        conduct(&mut state, &mut arena).unwrap();
        assert!(arena.now_s <= 600.0, "{} s", arena.now_s);
        let cells = judge::arena::result(&state).cells;
        let in_order = cells.is_sorted_by(|a, b| planted(&a.entry) <= planted(&b.entry));
        in_order && cells.iter().all(|cell| cell.group == Some((planted(&cell.entry) - 19.0) as u32))
    };
    let right = (0..20).filter(is_right).count();
    assert!(right >= 18, "{right} of 20 comparisons come out as planted");
}

#[test]
fn progress_tells_a_capacity_as_the_page_does() {
    let capacity = Some(ArenaCapacity { rate: 1170.0, low: 1100.0, high: 1200.0 });
    let known = ArenaSearch { capacity, bottleneck: Some("server-cpu".into()), ..ArenaSearch::default() };
    assert_eq!(words(&known), "capacity 1,170/s, server-cpu");
    let refused = Some(ArenaRefusal { kind: ArenaRefusalKind::NotOverloaded, text: "too short".into() });
    assert_eq!(words(&ArenaSearch { refused, ..known }), "capacity at least 1,170/s, server-cpu, no rank: too short");
}

#[test]
fn a_shorter_body_a_failed_build_and_a_bounded_generator_get_no_rank() {
    let servers = [
        server(40.0),
        Server { body_bytes: 99, ..server(10.0) },
        Server { no_build: true, ..server(10.0) },
        Server { by_generator: true, ..server(20.0) },
    ];
    let (mut state, mut arena) = (state(&servers, 120.0), Simulated::new(&servers, usize::MAX));
    conduct(&mut state, &mut arena).unwrap();
    assert_eq!(cell(&state, "s0").group, Some(1));
    let short = cell(&state, "s1");
    assert_eq!((short.group, short.refused_kind), (None, Some(ArenaRefusalKind::WrongAnswer)));
    assert!(short.refused.unwrap().contains("99 bytes, and that of s0 100") && short.cpu_us_per_request.is_none());
    assert!(cell(&state, "s2").refused.unwrap().contains("no compiler"));
    let bounded = cell(&state, "s3");
    assert_eq!((bounded.group, bounded.refused_kind), (None, Some(ArenaRefusalKind::Generator)));
    assert!(bounded.cpu_us_per_request.is_some(), "it holds the common rate");
}

#[test]
fn a_server_whose_body_is_shorter_in_a_later_turn_gets_no_rank() {
    let servers = [server(40.0), Server { short_after: 20, ..server(10.0) }];
    let (mut state, mut arena) = (state(&servers, 120.0), Simulated::new(&servers, usize::MAX));
    conduct(&mut state, &mut arena).unwrap();
    assert_eq!(cell(&state, "s0").group, Some(1));
    let short = cell(&state, "s1");
    assert_eq!((short.group, short.refused_kind), (None, Some(ArenaRefusalKind::WrongAnswer)));
    assert!(short.turns > 3 && short.refused.unwrap().contains("99 bytes, and that of s0 100"));
}

#[test]
fn an_interrupted_comparison_goes_on_where_it_was() {
    let servers = [server(40.0), server(20.0), server(30.0)];
    for stop_after in [0, 1, 2, 5, 9, 20] {
        let (mut state, mut first) = (state(&servers, 120.0), Simulated::new(&servers, stop_after));
        conduct(&mut state, &mut first).unwrap();
        assert!(!state.done && state.searches.len() <= 3, "{stop_after}");
        let kept = (state.searches.len(), state.turns.len());
        assert_eq!(kept.0, stop_after.min(3), "each finished search is kept");
        // The comparison continues from the stored state.
        let mut again: ArenaState = serde_json::from_str(&serde_json::to_string(&first.saved).unwrap()).unwrap();
        let mut second = Simulated::new(&servers, usize::MAX);
        conduct(&mut again, &mut second).unwrap();
        assert!(again.done && again.used_s <= 130.0, "{} s", again.used_s);
        assert_eq!(second.steps, again.searches.len() + again.turns.len() - kept.0 - first.saved.turns.len());
        assert_eq!(
            ["s0", "s1", "s2"].map(|name| cell(&again, name).group),
            [Some(3), Some(1), Some(2)],
            "{stop_after}"
        );
        let steps = second.steps;
        conduct(&mut again, &mut second).unwrap();
        assert_eq!(second.steps, steps, "a finished comparison measures nothing");
    }
}
