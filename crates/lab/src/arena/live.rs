//! A comparison of real servers.

use std::path::{Path, PathBuf};
use std::time::Instant;

use judge::arena::{measured, searched};
use run::{
    ArenaAnswer, ArenaEntry, ArenaPlace, ArenaPlan, ArenaProfile, ArenaRefusal, ArenaRefusalKind, ArenaSearch,
    ArenaState, ArenaTurn, Arrival, Intensity, Plan, Run, visible,
};

use super::build::build;
use super::conductor::{ArenaConductor, TurnPlan};
use super::container::{Container, remove_left, usable_engine};
use super::first_answer::{MAX_CHECKED_REQUESTS, answers, checked_in_turn, checked_requests, unchecked_requests};
use crate::servers::{GroupedServer, Launch, Limits, Quiet, can_make_groups, shell_command};
use crate::via::Engine;
use crate::{LabError, find, load, own_program, resolve};

/// Folder that holds the runs of all searches.
const RUNS: &str = "runs";
/// Maximum number of characters of the reason why a server was not measured.
const MAX_WORDS_CHARS: usize = 600;

/// Settings of a comparison of real servers.
pub struct LiveArenaSetup<'a> {
    /// Servers, loads and resources of the comparison.
    pub plan: &'a ArenaPlan,
    /// Plans of the runs, one for each load of the arena file. The URL of the server is filled in later.
    pub loads: Vec<Plan>,
    /// Memory limit of each server, bytes; `None` for no limit.
    pub memory_bytes: Option<u64>,
    /// Folder of the user's arena file, in which the commands of the servers run.
    pub folder: PathBuf,
    /// Folder of the results.
    pub dir: PathBuf,
    /// Returns true if the user wants to stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Shows the user a message and the seconds left.
    pub tell: &'a mut dyn FnMut(&str, f64),
    /// Writes the report of a search into the folder of its run.
    pub report: &'a dyn Fn(&Run, &Path),
    /// Stores the state of the comparison.
    pub store: &'a dyn Fn(&ArenaState) -> Result<(), LabError>,
}

/// A comparison of real servers.
pub struct LiveArena<'a> {
    setup: LiveArenaSetup<'a>,
    limits: Limits,
    engine: Option<&'static Engine>,
    /// True if servers get control groups of their own.
    groups: bool,
    program: PathBuf,
    began: Instant,
    /// Time that builds took, seconds. The time of builds is not part of the comparison's budget.
    left_out_s: f64,
}

/// A server of the comparison. `server` and `_container` are `None` if the server already ran before the comparison. On
/// drop, the server's processes end before its container is removed.
struct Started {
    server: Option<GroupedServer>,
    _container: Option<Container>,
}

impl<'a> LiveArena<'a> {
    /// Checks the requirements of the comparison before anything starts. Returns notes for the user.
    pub fn prepare(setup: LiveArenaSetup<'a>) -> Result<(Self, Vec<String>), LabError> {
        let fail = |why: String| LabError::set_up("preparing the comparison", why);
        let limits = Limits { quota: setup.plan.resources.quota, memory_bytes: setup.memory_bytes };
        let with_image = setup.plan.entries.iter().any(|entry| entry.image.is_some());
        let engine = with_image.then(usable_engine).transpose().map_err(fail)?;
        let removed = engine.and_then(remove_left);
        let (groups, note) = can_make_groups(limits, "[resources] with quota or memory")?;
        std::fs::create_dir_all(setup.dir.join(RUNS))
            .map_err(|e| fail(format!("creating {}: {e}", setup.dir.join(RUNS).display())))?;
        let unchecked = unchecked_notes(&setup);
        let (program, began) = (own_program()?, Instant::now());
        Ok((
            Self { setup, limits, engine, groups, program, began, left_out_s: 0.0 },
            removed.into_iter().chain(note).chain(unchecked).collect(),
        ))
    }

    fn entry(&self, place: ArenaPlace) -> &'a ArenaEntry {
        &self.setup.plan.entries[place.entry]
    }

    /// Returns the plan for a run of a server under a load.
    fn run_plan(&self, place: ArenaPlace) -> Plan {
        let mut plan = self.setup.loads[place.profile].clone();
        let profile = &self.setup.plan.profiles[place.profile];
        plan.target.url = self.entry(place).target(profile.https, &profile.path);
        plan
    }

    /// Starts a server, unless it already runs.
    fn start(&self, place: ArenaPlace, url: &str) -> Result<Started, LabError> {
        let entry = self.entry(place);
        if entry.url.is_some() {
            return Ok(Started { server: None, _container: None });
        }
        let addr = resolve(url, &self.setup.loads[place.profile].load.protocol)?.addr;
        let (cpus, words) = (self.setup.plan.resources.cpus.as_slice(), entry.command.as_deref().unwrap_or_default());
        let with_limits = self.groups.then_some(self.limits);
        let container = entry.image.as_ref().zip(self.engine).map(|(image, engine)| {
            let port = addr.inet().map_or(0, |addr| addr.port());
            let container = Container::new(engine, &entry.name);
            let command = container.command(image, words, port, self.limits, cpus);
            (container, command)
        });
        // The container engine sets the control group and the CPUs of a container, so this function sets neither.
        let (shell, cpus, group) = match &container {
            Some((_, command)) => (command.as_str(), &[][..], None),
            None => (words, cpus, with_limits),
        };
        let launch = Launch { name: &entry.name, shell, folder: &self.setup.folder, cpus, group, variables: &[] };
        let server = GroupedServer::start(launch, &addr, &self.program, self.setup.stop)?;
        Ok(Started { server: Some(server), _container: container.map(|(container, _)| container) })
    }

    /// Searches for the capacity of a server whose first answer passed the check.
    fn searched(&self, place: ArenaPlace, plan: Plan, started: &Started) -> ArenaSearch {
        let name = format!("{RUNS}/{}--{}", self.entry(place).name, self.setup.plan.profiles[place.profile].name);
        let dir = self.setup.dir.join(&name);
        match find(plan, Some(&dir), &mut Quiet(self.setup.stop)) {
            Ok(run) => {
                (self.setup.report)(&run, &dir);
                let mut found = ArenaSearch { run: Some(name), ..searched(&run) };
                found.refused.iter_mut().for_each(|refused| add_last_words(refused, started));
                found
            }
            Err(error) => failed(&error.to_string()),
        }
    }
}

impl ArenaConductor for LiveArena<'_> {
    fn elapsed_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64() - self.left_out_s
    }

    fn stopped(&self) -> bool {
        (self.setup.stop)()
    }

    fn progress(&mut self, sentence: &str, left_s: f64) {
        (self.setup.tell)(sentence, left_s);
    }

    fn build(&mut self, entry: usize) -> Result<(), String> {
        let begin = Instant::now();
        let plan: &ArenaPlan = self.setup.plan;
        let entry = &plan.entries[entry];
        let pull = entry.image.as_ref().zip(self.engine).map(|(image, engine)| Container::pull(engine, image));
        let Some(command) = entry.build.clone().or(pull) else { return Ok(()) };
        (self.setup.tell)(&format!("building {}", entry.name), f64::NAN);
        let port = entry.port.unwrap_or_default();
        let shell = shell_command(&self.setup.folder, port, &self.program, &[], &command);
        let built = build(&shell, &self.setup.dir.join(".built"), self.setup.stop);
        self.left_out_s += begin.elapsed().as_secs_f64();
        built.map_err(|why| bounded(&why))
    }

    fn search(
        &mut self,
        place: ArenaPlace,
        budget_s: f64,
        refuse: &dyn Fn(&[ArenaAnswer]) -> Option<ArenaRefusal>,
    ) -> ArenaSearch {
        let begin = Instant::now();
        let mut plan = self.run_plan(place);
        plan.search.budget_s = budget_s;
        let started = match self.start(place, &plan.target.url) {
            Ok(started) => started,
            Err(error) => return failed(&error.to_string()),
        };
        let answers = answers(&plan, &checked_requests(&plan.load));
        let start_s = begin.elapsed().as_secs_f64();
        let answers = match answers {
            Ok(answers) => answers,
            Err(why) => return failed(&why),
        };
        let refused = refuse(&answers);
        let mut answers = answers.into_iter();
        let (answer, further_answers) = (answers.next(), answers.collect());
        if refused.is_some() {
            return ArenaSearch { answer, further_answers, refused, start_s, ..ArenaSearch::default() };
        }
        ArenaSearch { answer, further_answers, start_s, ..self.searched(place, plan, &started) }
    }

    fn turn(
        &mut self,
        place: ArenaPlace,
        turn: TurnPlan,
        refuse: &dyn Fn(&[ArenaAnswer]) -> Option<ArenaRefusal>,
    ) -> ArenaTurn {
        let warm_up_s = self.setup.plan.profiles[place.profile].warm_up_s;
        let plan = turn_plan(self.run_plan(place), turn, warm_up_s);
        let started = match self.start(place, &plan.target.url) {
            Ok(started) => started,
            Err(error) => return ArenaTurn { refused: failed(&error.to_string()).refused, ..ArenaTurn::default() },
        };
        let refused = match answers(&plan, &checked_in_turn(&plan.load, turn.seed)) {
            Ok(answers) => refuse(&answers),
            Err(why) => failed(&why).refused,
        };
        if let Some(mut refused) = refused {
            add_last_words(&mut refused, &started);
            return ArenaTurn { refused: Some(refused), ..ArenaTurn::default() };
        }
        let loaded = load(plan, None, &mut Quiet(self.setup.stop));
        let mut found = match &loaded {
            Ok(Run { trials, findings, .. }) => {
                trials.last().map(|trial| measured(trial, turn.rate, findings.limits.errors)).unwrap_or_default()
            }
            Err(error) => ArenaTurn { refused: failed(&error.to_string()).refused, ..ArenaTurn::default() },
        };
        found.refused.iter_mut().for_each(|refused| add_last_words(refused, &started));
        found
    }

    fn save(&mut self, state: &ArenaState) -> Result<(), LabError> {
        (self.setup.store)(state)
    }
}

/// Returns a note for each load that has too many requests to check all of their answers.
fn unchecked_notes(setup: &LiveArenaSetup<'_>) -> Vec<String> {
    let loads = setup.plan.profiles.iter().zip(&setup.loads);
    let counts = loads.map(|(profile, load)| (profile, unchecked_requests(&load.load))).filter(|(_, count)| *count > 0);
    let note = |(profile, count): (&ArenaProfile, usize)| {
        let name = visible(&profile.name).into_owned();
        format!(
            "{name}: only the answers to the first {MAX_CHECKED_REQUESTS} requests are checked, not those to {count} others"
        )
    };
    counts.map(note).collect()
}

/// Returns the plan of a turn: an open loop with equal intervals between requests, so that every server gets the same
/// load.
fn turn_plan(mut plan: Plan, turn: TurnPlan, warm_up_s: f64) -> Plan {
    let TurnPlan { rate, window_s, seed } = turn;
    let (max_connections, pipeline) = (plan.search.max_connections, plan.load.intensity.pipeline());
    plan.command = "load".into();
    plan.load.intensity = Intensity::Open { rate, arrival: Arrival::Constant, max_connections, pipeline };
    (plan.load.duration_s, plan.load.seed) = (window_s, seed);
    // The throughput of a server that has just started may seem steady before its caches are filled and its code is
    // compiled. The warm-up of a turn is therefore never shortened.
    (plan.load.warmup_s, plan.load.least_warmup_s) = (warm_up_s, warm_up_s);
    plan.observe.at_rest_s = 0.0;
    plan
}

/// Returns the record of a search that failed.
fn failed(why: &str) -> ArenaSearch {
    let refused = ArenaRefusal { kind: ArenaRefusalKind::Failed, text: bounded(why) };
    ArenaSearch { refused: Some(refused), ..ArenaSearch::default() }
}

/// Adds the reason why a server ended, if it ended.
fn add_last_words(refused: &mut ArenaRefusal, started: &Started) {
    let ended = started.server.as_ref().and_then(GroupedServer::ended);
    refused.text.extend(ended.map(|how| format!("; its command ended ({how})")));
    refused.text = bounded(&refused.text);
}

/// Returns the reason why a server was not measured, escaped and cut to [`MAX_WORDS_CHARS`] characters.
fn bounded(text: &str) -> String {
    let shown = visible(text);
    match shown.char_indices().nth(MAX_WORDS_CHARS) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown.into_owned(),
    }
}
