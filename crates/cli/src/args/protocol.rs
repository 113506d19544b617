//! Protocol of a target. loadline moves the login in a database URL into the settings of the protocol. A stored run
//! contains the settings of the protocol without the password.

use anyhow::Context as _;
use run::{Behind, Plan, Protocol, UrlParts};

/// Sets the protocol that the target's URL names, with the plan's settings for this protocol. For PostgreSQL, also sets
/// the user, the password and the database.
pub(crate) fn set_protocol(plan: &mut Plan) -> anyhow::Result<()> {
    plan.load.protocol = protocol_of(&plan.target.url, &plan.load.protocol);
    let Protocol::Postgres { user, database, password, .. } = &mut plan.load.protocol else { return Ok(()) };
    let parts = UrlParts::parse(&plan.target.url);
    // In the URL of a Unix socket, the first `:/` separates the path of the socket from the name of the database.
    let is_socket = parts.transport().1;
    let url = match is_socket {
        true => format!("postgres://localhost{}", parts.rest.find(":/").map_or("", |at| &parts.rest[at + 1..])),
        false => plan.target.url.clone(),
    };
    let found = Behind::of_target(&url).map_err(anyhow::Error::msg);
    let mut found = found.context("the target is not a usable URL of a database")?;
    let or = |first: String, second: &str| if first.is_empty() { second.to_owned() } else { first };
    let of_url = found.password.reveal().map(str::to_owned);
    found.user = or(or(found.user, user), &databases::default_user());
    found.database = or(found.database, database);
    *password = or(of_url.unwrap_or_default(), password);
    if password.is_empty() {
        *password = databases::password(&found).unwrap_or_default();
    }
    (*user, *database) = (found.user.clone(), found.database.clone());
    if !is_socket {
        plan.target.url = found.target_url();
    }
    Ok(())
}

/// Returns the protocol that a URL's scheme names. If the plan file has settings for this protocol, returns these
/// settings, otherwise the defaults. loadline refuses an unknown scheme later, when it looks up the target.
pub(super) fn protocol_of(url: &str, given: &Protocol) -> Protocol {
    let fresh = proto::by_url(url).map_or_else(Protocol::default, |(row, _)| (row.defaults)());
    if fresh.name() == given.name() { given.clone() } else { fresh }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> (String, Protocol) {
        let mut plan = Plan::default();
        plan.target.url = url.into();
        set_protocol(&mut plan).unwrap();
        (plan.target.url, plan.load.protocol)
    }

    #[test]
    fn a_login_moves_from_the_url_into_the_settings() {
        for (given, left) in [
            ("postgres://app:hunter%402@db:5433/shop?application_name=x", "postgres://db:5433/shop?user=app"),
            ("postgresql://app:hunter%402@db/shop?sslmode=require", "postgres+tls://db:5432/shop?user=app"),
            ("postgres+tls://app:hunter%402@[::1]/shop", "postgres+tls://[::1]:5432/shop?user=app"),
            (
                "postgres://app:hunter%402@/shop?host=/run/pg&port=7",
                "postgres+unix:///run/pg/.s.PGSQL.7:/shop?user=app",
            ),
        ] {
            let (url, Protocol::Postgres { user, database, password, .. }) = of(given) else { panic!() };
            assert_eq!((url.as_str(), user.as_str(), database.as_str()), (left, "app", "shop"), "{given}");
            assert_eq!(password, "hunter@2");
            let (again, Protocol::Postgres { user, database, .. }) = of(left) else { panic!() };
            assert_eq!((again.as_str(), user.as_str(), database.as_str()), (left, "app", "shop"));
        }
        assert_eq!(of("http://h/"), ("http://h/".into(), Protocol::default()));
    }

    #[test]
    fn a_wrong_url_hides_its_password() {
        let mut plan = Plan::default();
        plan.target.url = "postgres://app:hunter2@h/db?dbnam=shop".into();
        let error = format!("{:#}", set_protocol(&mut plan).unwrap_err());
        assert!(error.contains("did you mean dbname?") && !error.contains("hunter2"), "{error}");
    }
}
