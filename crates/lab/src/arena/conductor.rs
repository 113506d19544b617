//! Interface between a comparison of many servers and the actions on these servers.

use run::{ArenaAnswer, ArenaPlace, ArenaRefusal, ArenaSearch, ArenaState, ArenaTurn};

use crate::LabError;

/// Builds servers, searches for their capacities, and measures turns. The trait has two implementations: for real
/// servers, and for simulated servers in tests.
pub trait ArenaConductor {
    /// Returns the seconds since the comparison was started or resumed, without the time of builds.
    fn elapsed_s(&self) -> f64;

    /// Returns true if the user wants to stop. After the user has stopped a comparison, its last result is incomplete.
    fn stopped(&self) -> bool;

    /// Shows the user a sentence about the last action, and the approximate number of seconds that remain.
    fn progress(&mut self, sentence: &str, left_s: f64);

    /// Builds a server with its build command. The error contains the last output of the build.
    fn build(&mut self, entry: usize) -> Result<(), String>;

    /// Finds the capacity of a server under a load, within about `budget_s` seconds. Before the load begins, `refuse`
    /// checks the server's answers, and returns a refusal if the server must not be measured.
    fn search(
        &mut self,
        place: ArenaPlace,
        budget_s: f64,
        refuse: &dyn Fn(&[ArenaAnswer]) -> Option<ArenaRefusal>,
    ) -> ArenaSearch;

    /// Measures a server at the request rate in `turn`. Before the load begins, `refuse` checks some of the server's
    /// answers. If `refuse` returns a refusal, the server is not measured.
    fn turn(
        &mut self,
        place: ArenaPlace,
        turn: TurnPlan,
        refuse: &dyn Fn(&[ArenaAnswer]) -> Option<ArenaRefusal>,
    ) -> ArenaTurn;

    /// Stores the state of the comparison.
    fn save(&mut self, state: &ArenaState) -> Result<(), LabError>;
}

/// Load of one turn (one short measurement of one server).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TurnPlan {
    /// Offered rate of the load, requests per second.
    pub rate: f64,
    /// Length of the measurement under the load, seconds.
    pub window_s: f64,
    /// Seed of the load.
    pub seed: u64,
}
