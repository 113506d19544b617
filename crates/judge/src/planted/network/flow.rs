//! Steps that requests take through a simulated network.

use super::sim::{Event, Load, Sim};
use super::world::{SERVER, Step, Threads};

/// Constant part of a mean service time, 0 to 1. The rest of each service time is random and exponentially distributed.
const CONSTANT: f64 = 0.6;
/// Share of the requests that sleep for a long time.
const RARE: f64 = 0.01;
/// Time after which a client repeats a lost SYN, seconds. Each further repetition of a SYN waits twice as long.
const SYN_AGAIN_S: f64 = 1.0;
/// Number of requests that a rate limiter passes at once after a pause.
const TOKENS: f64 = 10.0;

impl Sim<'_> {
    /// Runs a request's steps until the request has to wait.
    pub(super) fn go_on(&mut self, request: usize) {
        if self.requests[request].step == 0 {
            self.begin(request);
        }
        loop {
            let at = self.requests[request].step;
            let Some(step) = self.world.steps.get(at).copied() else { return self.answered(request) };
            self.requests[request].step += 1;
            if !self.take_step(request, step) {
                return;
            }
        }
    }

    fn begin(&mut self, request: usize) {
        if matches!(self.load, Load::Closed(_)) {
            self.requests[request].start_s = self.now_s;
            self.sums.due += 1.0;
        }
        self.requests[request].connect_s = 0.0;
        self.sums.sent += 1.0;
        self.counts.in_flight += 1;
    }

    /// Takes one step of a request. Returns true if the request goes on at once, and false if the request waits.
    fn take_step(&mut self, request: usize, step: Step) -> bool {
        match step {
            Step::Way => self.sleep(request, self.world.way_s),
            Step::Sleep(mean_s) => {
                let time_s = self.time(mean_s);
                self.sleep(request, time_s)
            }
            Step::Rare(slow_s) => self.random.f64() >= RARE || self.sleep(request, slow_s),
            Step::Enter(program) => self.enter(program, request),
            Step::Leave(program) => self.leave(program, request),
            Step::Cpu(program, mean_s) => {
                let (thread, work_s) = (self.thread_of(program, request), self.time(mean_s));
                self.compute(thread, request, work_s);
                false
            }
            Step::Take(semaphore) => self.take(semaphore, request),
            Step::Give(semaphore) => self.give(semaphore),
            Step::Limit => self.limit(request),
            Step::Accept => self.connect(request),
        }
    }

    fn time(&mut self, mean_s: f64) -> f64 {
        mean_s * (CONSTANT + (1.0 - CONSTANT) * self.exponential())
    }

    fn sleep(&mut self, request: usize, time_s: f64) -> bool {
        if time_s > 0.0 {
            self.after(time_s, Event::GoOn(request));
        }
        time_s <= 0.0
    }

    fn thread_of(&self, program: usize, request: usize) -> usize {
        let workers = &self.workers[program];
        self.requests[request].worker[program].unwrap_or(workers.first + request % workers.count.max(1))
    }

    fn enter(&mut self, program: usize, request: usize) -> bool {
        if program == SERVER && !self.requests[request].unread {
            self.requests[request].unread = true;
            self.counts.unread += 1;
        }
        if !matches!(self.world.programs[program].threads, Threads::Pool(_)) {
            return true;
        }
        let workers = &mut self.workers[program];
        self.requests[request].worker[program] = workers.free.pop();
        if self.requests[request].worker[program].is_none() {
            workers.queue.push_back(request);
        } else if program == SERVER {
            self.read(request);
        }
        self.requests[request].worker[program].is_some()
    }

    fn leave(&mut self, program: usize, request: usize) -> bool {
        let Some(worker) = self.requests[request].worker[program].take() else { return true };
        match self.workers[program].queue.pop_front() {
            None => self.workers[program].free.push(worker),
            Some(next) => {
                self.requests[next].worker[program] = Some(worker);
                if program == SERVER {
                    self.read(next);
                }
                self.after(0.0, Event::GoOn(next));
            }
        }
        true
    }

    fn take(&mut self, semaphore: usize, request: usize) -> bool {
        let one = &mut self.semaphores[semaphore];
        let free = one.free > 0;
        if free {
            one.free -= 1;
        } else {
            one.queue.push_back(request);
        }
        free
    }

    fn give(&mut self, semaphore: usize) -> bool {
        match self.semaphores[semaphore].queue.pop_front() {
            Some(next) => self.after(0.0, Event::GoOn(next)),
            None => self.semaphores[semaphore].free += 1,
        }
        true
    }

    fn limit(&mut self, request: usize) -> bool {
        let Some(limiter) = self.world.limiter else { return true };
        if limiter.refuses {
            let (tokens, last_s) = self.limiter;
            let tokens = (tokens + limiter.rate * (self.now_s - last_s)).min(TOKENS);
            self.limiter = (if tokens >= 1.0 { tokens - 1.0 } else { tokens }, self.now_s);
            if tokens < 1.0 {
                self.requests[request].refused = true;
                self.requests[request].step = self.world.reply;
            }
            return true;
        }
        let at_s = self.limiter.1.max(self.now_s);
        self.limiter.1 = at_s + 1.0 / limiter.rate;
        self.sleep(request, at_s - self.now_s)
    }

    /// Handles the arrival of a request's SYN at the listener. Drops the SYN if the listen queue is full.
    fn connect(&mut self, request: usize) -> bool {
        let Some(listener) = self.world.listener else { return true };
        // Like the kernel, the listener queues one connection more than its backlog.
        if self.backlog.len() <= listener.backlog {
            self.backlog.push_back(request);
            self.requests[request].dropped = 0;
            return false;
        }
        self.sums.dropped += 1.0;
        let again_s = SYN_AGAIN_S * 2f64.powi(self.requests[request].dropped.min(5) as i32);
        self.requests[request].dropped += 1;
        self.requests[request].step -= 1;
        self.requests[request].connect_s += again_s;
        self.sleep(request, again_s)
    }

    pub(super) fn accept_all(&mut self) {
        let waiting: Vec<usize> = self.backlog.drain(..).collect();
        self.sums.accepted += waiting.len() as f64;
        waiting.into_iter().for_each(|request| self.go_on(request));
        if let Some(listener) = self.world.listener {
            self.after(listener.every_s, Event::AcceptAll);
        }
    }

    /// Handles an answer that the client has read.
    fn answered(&mut self, request: usize) {
        let one = &mut self.requests[request];
        let (took_s, connect_s) = (self.now_s - one.start_s, one.connect_s);
        self.sums.refused += f64::from(u8::from(std::mem::take(&mut one.refused)));
        one.step = 0;
        self.answers.push((took_s, connect_s));
        self.counts.in_flight -= 1;
        if matches!(self.load, Load::Closed(_)) {
            let think_s = self.world.think_s * self.exponential();
            return self.after(think_s, Event::GoOn(request));
        }
        match self.late.pop_front() {
            Some(start_s) => self.send(request, start_s),
            None => self.idle.push(request),
        }
    }

    /// Handles the arrival of the next request of an open loop.
    pub(super) fn arrives(&mut self) {
        let Load::Open(rate, _) = self.load else { return };
        self.sums.due += 1.0;
        self.after(1.0 / rate, Event::Arrival);
        match self.idle.pop() {
            Some(request) => self.send(request, self.now_s),
            None => self.late.push_back(self.now_s),
        }
    }

    fn send(&mut self, request: usize, start_s: f64) {
        self.requests[request].start_s = start_s;
        self.after(0.0, Event::GoOn(request));
    }
}
