//! Steps of a comparison of many servers: builds, capacity searches, and rounds of turns. In a turn, one server is
//! measured for a short time. A resumed comparison continues with the steps whose results are missing from its state.

use judge::arena::{ExpectedAnswers, common_rate, takes_turns, wrong_turn};
use run::{ArenaBuild, ArenaPlace, ArenaSearch, ArenaState, ArenaTurn};

use super::conductor::{ArenaConductor, TurnPlan};
use super::times;
use crate::LabError;
use crate::search::SEARCH_OVERHEAD_S;

/// Maximum number of turns for a server whose turns all gave no valid result. Such a server gets no further turns, and
/// its remaining time is divided among the other servers.
const MAX_REFUSED_TURNS: usize = 3;

/// Runs the builds, searches and turns whose results are missing from the saved state, until the budget ends or the
/// user stops the command.
pub fn conduct(state: &mut ArenaState, conductor: &mut dyn ArenaConductor) -> Result<(), LabError> {
    if state.done {
        return Ok(());
    }
    let before_s = state.used_s;
    let mut steps = Steps { state, conductor, before_s, overhead_s: SEARCH_OVERHEAD_S };
    steps.builds()?;
    steps.searches()?;
    steps.rounds()?;
    steps.state.done = !steps.conductor.stopped();
    steps.save()
}

struct Steps<'a> {
    state: &'a mut ArenaState,
    conductor: &'a mut dyn ArenaConductor,
    /// Time that earlier, interrupted parts of the comparison took, seconds.
    before_s: f64,
    /// Expected time that a search needs in addition to its budget and the server's start, seconds.
    overhead_s: f64,
}

/// A server of the arena, which takes turns with the other servers: each turn is one load. The first server takes two
/// turns per round. In its second turn, the first server is started again as its own "twin", to show the noise between
/// two starts.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Member {
    place: ArenaPlace,
    twin: bool,
}

impl Steps<'_> {
    fn used_s(&self) -> f64 {
        self.before_s + self.conductor.elapsed_s()
    }

    fn left_s(&self) -> f64 {
        self.state.budget_s - self.used_s()
    }

    fn save(&mut self) -> Result<(), LabError> {
        self.state.used_s = self.used_s();
        self.conductor.save(self.state)
    }

    fn name(&self, place: ArenaPlace) -> String {
        let (entry, profile) = (&self.state.plan.entries[place.entry], &self.state.plan.profiles[place.profile]);
        format!("{}, {}", entry.name, profile.name)
    }

    fn builds(&mut self) -> Result<(), LabError> {
        for entry in 0..self.state.plan.entries.len() {
            if self.state.builds.iter().any(|build| build.entry == entry) {
                continue;
            }
            let failed = self.conductor.build(entry).err();
            if self.conductor.stopped() {
                return Ok(());
            }
            self.state.builds.push(ArenaBuild { entry, failed });
            self.save()?;
        }
        Ok(())
    }

    fn is_built(&self, entry: usize) -> bool {
        self.state.builds.iter().any(|build| build.entry == entry && build.failed.is_none())
    }

    fn searches(&mut self) -> Result<(), LabError> {
        let places: Vec<ArenaPlace> = self.state.places();
        let open = |state: &ArenaState, place: ArenaPlace| state.search(place).is_none();
        for (at, place) in places.iter().copied().enumerate() {
            if self.conductor.stopped() {
                return Ok(());
            }
            if !self.is_built(place.entry) || !open(self.state, place) {
                continue;
            }
            let left = places[at..].iter().filter(|p| self.is_built(p.entry) && open(self.state, **p)).count();
            let (began_s, around_s) = (self.used_s(), self.start_s() + self.overhead_s);
            let budget_s = times::search_s(self.state.budget_s, began_s, left, around_s);
            let found = self.search(place, budget_s);
            if found.run.is_some() {
                let over_s = self.used_s() - began_s - budget_s - found.start_s;
                self.overhead_s = times::next_overhead_s(self.overhead_s, over_s);
            }
            if self.conductor.stopped() {
                return Ok(());
            }
            let said = format!("{}: {}", self.name(place), words(&found));
            self.state.searches.push(found);
            self.save()?;
            self.conductor.progress(&said, self.left_s());
        }
        Ok(())
    }

    fn search(&mut self, place: ArenaPlace, budget_s: f64) -> ArenaSearch {
        let expected = ExpectedAnswers::of(self.state, place);
        let found = self.conductor.search(place, budget_s, &|answers| expected.wrong(answers));
        ArenaSearch { place, ..found }
    }

    /// Returns the mean time that servers take to start, seconds.
    fn start_s(&self) -> f64 {
        judge::average(&self.state.searches.iter().map(|search| search.start_s).collect::<Vec<_>>())
    }

    /// Returns the mean warm-up of the servers' turns, seconds.
    fn warm_up_s(&self, members: &[Member]) -> f64 {
        let of = |member: &Member| self.state.plan.profiles[member.place.profile].warm_up_s;
        judge::average(&members.iter().map(of).collect::<Vec<_>>())
    }

    fn rounds(&mut self) -> Result<(), LabError> {
        let first = self.state.turns.iter().map(|turn| turn.round + 1).max().unwrap_or(0);
        let members = self.members();
        let (start_s, warm_up_s) = (self.start_s(), self.warm_up_s(&members));
        let window_s = times::window_s(self.left_s(), members.len(), start_s, warm_up_s);
        let mut last_s = members.len() as f64 * times::turn_s(window_s, start_s, warm_up_s);
        for round in first.. {
            let members = self.members();
            if members.is_empty() || self.conductor.stopped() || !times::fits(self.left_s(), round, last_s) {
                break;
            }
            let began_s = self.used_s();
            for at in times::order(self.state.seed, round, members.len()) {
                if self.conductor.stopped() {
                    return Ok(());
                }
                self.turn(members[at], round, window_s);
            }
            last_s = self.used_s() - began_s;
            self.save()?;
            self.conductor.progress(&format!("round {} of turns at the common rates", round + 1), self.left_s());
        }
        Ok(())
    }

    fn turn(&mut self, member: Member, round: u32, window_s: f64) {
        let Some(rate) = common_rate(self.state, member.place.profile) else { return };
        let seed = self.state.seed.wrapping_add(u64::from(round));
        let expected = ExpectedAnswers::of(self.state, member.place);
        let plan = TurnPlan { rate, window_s, seed };
        let turn = self.conductor.turn(member.place, plan, &|answers| expected.wrong(answers));
        if !self.conductor.stopped() {
            self.state.turns.push(ArenaTurn { place: member.place, twin: member.twin, round, rate, ..turn });
        }
    }

    /// Returns the servers that take turns under each load. One server of each load is listed twice, the second time as
    /// its "twin" (a second start).
    fn members(&self) -> Vec<Member> {
        let mut members = Vec::new();
        for profile in 0..self.state.plan.profiles.len() {
            let places = (0..self.state.plan.entries.len()).map(|entry| ArenaPlace { entry, profile });
            let places: Vec<ArenaPlace> =
                places.filter(|place| takes_turns(self.state, *place) && !self.is_spoiled(*place)).collect();
            members.extend(places.iter().map(|place| Member { place: *place, twin: false }));
            let twin = self.state.turns.iter().find(|turn| turn.twin && turn.place.profile == profile);
            let twin = twin.map(|turn| turn.place).filter(|place| places.contains(place)).or(places.first().copied());
            members.extend(twin.map(|place| Member { place, twin: true }));
        }
        members
    }

    /// Returns true if a server gave a wrong answer in a turn. Also returns true if the server had at least
    /// [`MAX_REFUSED_TURNS`] turns without a valid result.
    fn is_spoiled(&self, place: ArenaPlace) -> bool {
        if wrong_turn(self.state, place).is_some() {
            return true;
        }
        let own = || self.state.turns.iter().filter(|turn| turn.place == place && !turn.twin);
        own().count() >= MAX_REFUSED_TURNS && own().all(|turn| turn.refused.is_some())
    }
}

/// Describes the result of a search in a few words for the user.
fn words(found: &ArenaSearch) -> String {
    let capacity = found.capacity.map(|capacity| run::number::prose::rate(capacity.rate));
    let least =
        if found.refused.as_ref().is_some_and(|refused| refused.kind.is_lower_bound()) { "at least " } else { "" };
    let capacity = capacity.map(|rate| format!("capacity {least}{rate}"));
    let verdict = found.bottleneck.clone().filter(|_| capacity.is_some());
    let refused = found.refused.as_ref().map(|refused| format!("no rank: {}", refused.text));
    capacity.into_iter().chain(verdict).chain(refused).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
