//! A caller, as the rest of the program knows them.

use std::{sync::Arc, time::Duration};

use nuncio_protocol::{ids::AgentId, service::Caller, time::Timestamp};
use tokio::time::sleep;

use crate::{api_key::KeyRecord, jwt, pair::Lease, rules::Grant};

/// A caller who has proved who they are, or whom an open endpoint lets in unproved.
///
/// Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// Who it is.
    pub caller: Caller,
    /// To which organisation they belong, if the credential says so.
    pub organisation: Option<Arc<str>>,
    /// What the credential is good for, in the issuer's words.
    pub scopes: Arc<[String]>,
    /// How they proved it.
    pub method: Method,
    /// The record of the API key that was shown, if one was.
    pub key: Option<Arc<KeyRecord>>,
    /// When the credential ends; see [`ended`](Self::ended).
    pub expires: Option<Timestamp>,
    /// What the credential permits here: everything, unless it is a pair token.
    pub grant: Grant,
    /// The agents on whose behalf a pair token's caller calls, the first one first.
    pub chain: Arc<[AgentId]>,
    /// For how long the rules stay as they were when a pair token was issued.
    pub lease: Option<Lease>,
}

/// How a caller proved who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Not at all: the endpoint is open.
    Open,
    /// By an API key.
    ApiKey,
    /// By a token of an issuer.
    Jwt,
    /// By a client certificate.
    Mtls,
    /// By a pair token of the hub.
    Pair,
}

impl Identity {
    /// A caller of whom nothing more is known.
    pub fn new(caller: Caller, method: Method) -> Self {
        Self {
            caller,
            organisation: None,
            scopes: Arc::default(),
            method,
            key: None,
            expires: None,
            grant: Grant::ALL,
            chain: Arc::default(),
            lease: None,
        }
    }

    /// Somebody whom an open endpoint lets in.
    pub fn anonymous() -> Self {
        Self::new(Caller::Anonymous, Method::Open)
    }

    /// Waits until the credential would not be accepted any more: because it has expired, or
    /// because the rules have changed since a pair token was issued.
    ///
    /// For streams, which outlive the check at their beginning. Never ends for a credential
    /// that does not.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + 'static {
        let leeway = match self.method {
            Method::Jwt | Method::Pair => jwt::LEEWAY,
            _ => 0,
        };
        let end = self.expires.map(|expires| expires.to_parts().0.saturating_add(leeway));
        let lease = self.lease.clone();
        async move {
            let expired = async {
                match end {
                    Some(end) => passed(end).await,
                    None => std::future::pending().await,
                }
            };
            let changed = async {
                match lease {
                    Some(lease) => lease.ended().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = expired => {}
                () = changed => {}
            }
        }
    }

    /// Tells whether [`ended`](Self::ended) can ever be.
    pub fn ends(&self) -> bool {
        self.expires.is_some() || self.lease.is_some()
    }

    /// Returns the caller's name, if they have one.
    pub fn name(&self) -> Option<&str> {
        match &self.caller {
            Caller::Agent(name) | Caller::User(name) => Some(name),
            _ => None,
        }
    }
}

/// Waits until a second of the calendar has passed.
async fn passed(end: i64) {
    // The clock on the wall may be set meanwhile, so it is looked at now and then.
    const LONGEST: u64 = 60;
    loop {
        let (now, nanoseconds) = Timestamp::now().to_parts();
        let Ok(left @ 0..) = u64::try_from(end.saturating_sub(now)) else { return };
        // Behind the second, as the check at the beginning has it.
        let part = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or_default());
        let rest = Duration::from_secs(1).saturating_sub(part);
        sleep(Duration::from_secs(left.min(LONGEST)) + rest).await;
    }
}
