//! PostgreSQL client: logs in, prepares statements, and then sends statements one after another.

use std::collections::VecDeque;
use std::sync::Arc;

use fastrand::Rng;
use run::{Protocol, RequestOrder, RequestSet};

use super::advice::advice;
use super::login::Credentials;
use super::reader::{Event, Reader};
use super::server_error::ServerError;
use super::setup::{Phase, Setup};
use super::statement::{Statement, statements};
use crate::commands::copy_rest;
use crate::template::{SharedPlan, Source};
use crate::{Client, Done, Fault, Mix, Outcome, Progress, ProtoError, Request, Requester, Which};

/// Settings that all clients of a load share, checked and prepared.
#[derive(Clone)]
pub struct ClientPlan {
    statements: Arc<[Statement]>,
    shared: SharedPlan,
    /// Login of each connection; `None` if connections begin without one.
    credentials: Option<Arc<Credentials>>,
}

/// Checks the user's settings of PostgreSQL, and prepares the settings that its clients share.
pub(crate) fn client(plan: &Protocol, set: Option<&RequestSet>) -> Result<ClientPlan, ProtoError> {
    let Protocol::Postgres { user, database, password, prepared, local } = plan else {
        return Err(ProtoError::Unknown(plan.name()));
    };
    if let Some(name) = [user, database].into_iter().find(|name| name.contains('\0')) {
        let (what, value) = ("the user or the database", name.clone());
        return Err(ProtoError::Invalid { what, value, advice: "give a name without zero bytes" });
    }
    let shared = SharedPlan::new(plan, set);
    let statements = statements(set, shared.source.as_deref(), *prepared)?;
    let credentials = (!user.is_empty()).then(|| {
        let (user, database) = (user.clone(), database.clone());
        let password = (!password.is_empty()).then(|| password.clone());
        Arc::new(Credentials { user, database, password, is_private: *local })
    });
    Ok(ClientPlan { statements: statements.into(), shared, credentials })
}

impl Client for ClientPlan {
    type Session = ClientSession;

    fn session(&self) -> ClientSession {
        let filling = self.shared.template().map(|(source, seed, _)| (source, Rng::with_seed(seed)));
        let mut session = ClientSession {
            plan: self.clone(),
            filling,
            setup: Setup::default(),
            unsent: VecDeque::new(),
            filled: Vec::new(),
            sent: 0,
            outstanding: 0,
            failed: None,
            bytes: 0,
            reader: Reader::default(),
            error: None,
        };
        session.begin_connection();
        session
    }

    fn within_tls(mut self) -> Self {
        self.credentials.iter_mut().for_each(|login| Arc::make_mut(login).is_private = true);
        self
    }

    fn fixed(&self) -> bool {
        self.shared.source.is_none()
    }

    fn mix(&self) -> &Mix {
        &self.shared.mix
    }

    /// If statements are sent as a sequence, a statement may be part of a transaction, which exists only on its
    /// connection. A statement of a transaction must not be sent again on another connection.
    fn is_idempotent(&self, item: u16) -> bool {
        let statement = self.statements.get(usize::from(item));
        !self.has_transactions() && statement.is_some_and(|statement| statement.only_reads)
    }

    fn has_transactions(&self) -> bool {
        self.shared.mix.order == RequestOrder::Sequence
    }
}

/// Codes of fatal errors with which a server ends a connection, whatever its client does: a shutdown, a crash of another
/// process, and the time limits on idle connections and transactions (PostgreSQL manual, appendix A).
const ENDS_OF_OWN_ACCORD: &[&str] = &["57P01", "57P02", "57P05", "25P03"];

/// Client side of one connection.
pub struct ClientSession {
    plan: ClientPlan,
    /// Source of the values that are filled into statements, and a random number generator; `None` if no values are
    /// filled in.
    filling: Option<(Arc<Source>, Rng)>,
    setup: Setup,
    /// Indices of the statements that were not sent completely, in order.
    unsent: VecDeque<u16>,
    /// Encoded messages of the first statement in `unsent`, if values are filled into this statement for every send.
    filled: Vec<u8>,
    /// Number of bytes already sent of the first statement in `unsent`.
    sent: usize,
    outstanding: u32,
    /// Status of the current answer, if its statement has failed.
    failed: Option<u16>,
    /// Number of bytes of the current answer.
    bytes: u64,
    reader: Reader,
    /// Last error of the server.
    error: Option<ServerError>,
}

impl Requester for ClientSession {
    fn matches_answers_by_order(&self) -> bool {
        true
    }

    fn ready(&self) -> bool {
        self.setup.phase == Phase::Ready
    }

    fn explain(&self) -> Option<String> {
        let of_statement = || {
            let advice = advice(self.error.as_ref()?, "correct the statement");
            self.refusal_words().map(|quoted| format!("it answered {quoted}; {advice}"))
        };
        self.setup.failure().or_else(of_statement)
    }

    fn refusal_words(&self) -> Option<String> {
        self.error.as_ref().map(|error| format!("{:?}", error.to_string()))
    }

    fn close_words(&self) -> Option<String> {
        let fatal = self.error.as_ref().filter(|error| error.is_fatal());
        fatal.map(|error| format!("with {:?}", error.to_string()))
    }

    fn is_answering(&self) -> Option<bool> {
        Some(self.reader.is_answering())
    }

    fn begin(&mut self, request: Request) {
        self.unsent.push_back(request.item);
        self.outstanding += 1;
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let mut done = self.setup.transmit(out);
        while done < out.len()
            && let Some(item) = self.unsent.front()
        {
            let statement = &self.plan.statements[usize::from(*item)];
            if self.sent == 0 {
                self.filled.clear();
                if let Some((source, rng)) = &mut self.filling {
                    statement.fill(source, rng, &mut self.filled);
                }
            }
            let message = if self.filled.is_empty() { &statement.bytes[..] } else { &self.filled[..] };
            done += copy_rest(message, &mut self.sent, &mut out[done..]);
            if self.sent == message.len() {
                self.sent = 0;
                self.unsent.pop_front();
            }
        }
        done
    }

    fn wants_transmit(&self) -> bool {
        self.setup.wants_transmit() || !self.unsent.is_empty()
    }

    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let Some(credentials) = self.plan.credentials.as_ref().filter(|_| self.setup.phase == Phase::Login) else {
            return self.read_answers(input, done);
        };
        match self.setup.receive(input, credentials, &self.plan.statements)? {
            Some(rest) => self.read_answers(&rest, done),
            None => Ok(Progress::default()),
        }
    }

    fn peer_closed(&mut self, _: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let inside = self.outstanding > 0 || !self.ready() || self.reader.is_answering();
        if inside { Err(Fault::Short) } else { Ok(Progress::CLOSE) }
    }

    fn reset(&mut self) {
        self.unsent.clear();
        self.reader.reset();
        (self.sent, self.outstanding, self.bytes) = (0, 0, 0);
        (self.failed, self.error) = (None, None);
        self.begin_connection();
    }
}

impl ClientSession {
    fn begin_connection(&mut self) {
        self.setup.begin(self.plan.credentials.as_deref(), &self.plan.statements);
    }

    #[inline]
    fn read_answers(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let (mut progress, mut rest) = (Progress::default(), input);
        let mut unread = input.len();
        while let Some(event) = self.reader.next(&mut rest)? {
            self.bytes += (unread - rest.len()) as u64;
            unread = rest.len();
            match event {
                Event::Ready => self.complete(&mut progress, done)?,
                Event::Notification => progress.unasked += 1,
                Event::WantsData => {
                    return Err(Fault::Malformed("the server waits for data of COPY, which loadline does not send"));
                }
                Event::Error => self.fail(&mut progress, done)?,
            }
            // No message follows an error that ends the connection.
            if progress.close {
                return Ok(progress);
            }
        }
        self.bytes += unread as u64;
        Ok(progress)
    }

    /// Handles ReadyForQuery, which ends an answer or the preparation of statements.
    #[inline]
    fn complete(&mut self, progress: &mut Progress, done: &mut dyn FnMut(Done)) -> Result<(), Fault> {
        let bytes = std::mem::take(&mut self.bytes);
        if self.setup.phase == Phase::Preparing {
            self.setup.phase = Phase::Ready;
            return Ok(());
        }
        if self.outstanding == 0 {
            return Err(Fault::Unasked("an answer that no statement asked for"));
        }
        self.outstanding -= 1;
        progress.completed += 1;
        let failed = self.failed.take();
        let outcome = if failed.is_some() { Outcome::Unexpected } else { Outcome::Expected };
        done(Done { which: Which::Oldest, status: failed.unwrap_or_default(), outcome, bytes, events: 0 });
        Ok(())
    }

    /// Handles an error from the server. After a fatal error, the server closes the connection. If the server ends the
    /// connection of its own accord, the error answers no statement, even if one is in flight.
    fn fail(&mut self, progress: &mut Progress, done: &mut dyn FnMut(Done)) -> Result<(), Fault> {
        let error = ServerError::from_body(self.reader.error());
        let (is_fatal, status) = (error.is_fatal(), run::sqlstate_status(&error.sqlstate));
        let is_of_own_accord = is_fatal && ENDS_OF_OWN_ACCORD.contains(&error.sqlstate.as_str());
        self.error = Some(error);
        if self.setup.phase == Phase::Preparing {
            return Err(Fault::Malformed("the server does not prepare a statement"));
        }
        if self.outstanding == 0 && !is_fatal {
            return Err(Fault::Unasked("an error that belongs to no statement"));
        }
        if is_of_own_accord {
            progress.close = true;
            return Ok(());
        }
        self.failed.get_or_insert(status);
        if is_fatal && self.outstanding > 0 {
            self.complete(progress, done)?;
        }
        progress.close = is_fatal && self.outstanding == 0;
        Ok(())
    }
}
