//! What may be reached, for what and on whose word.
//!
//! [`Guard::check_url`] judges the text of a URL, [`Guard::check_resolved`] also the
//! addresses behind its name. Both serve registration: a bad webhook is refused when it is
//! registered, not when it fails. A client judges again at each connection, because a name
//! can lead elsewhere by then.
//!
//! Invariant: nothing in this crate opens a connection to an address that
//! [`Guard::addresses`] did not return for that very connection.

mod hidden;
mod policy;
mod ranges;
mod refused;
mod resolve;
mod url;

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tracing::debug;

pub use self::{
    policy::{Errand, Policy, Purpose, Trust},
    ranges::{METADATA, RANGES, Range, Standing},
    refused::Refused,
    resolve::{Resolver, SystemResolver},
    url::CheckedUrl,
};
use self::{ranges::special, url::Host};
use crate::error::{Clock, Error};

/// Decides where requests may go. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Guard {
    policy: Arc<Policy>,
    resolvers: Resolvers,
    resolve_limit: Duration,
}

/// A resolver each, so that callers who name slow domains do not hold up administrators.
#[derive(Clone, Debug)]
struct Resolvers {
    callers: Arc<dyn Resolver>,
    administrators: Arc<dyn Resolver>,
}

impl Guard {
    /// Makes a guard that finds addresses as the system does, within 2 seconds.
    pub fn new(policy: Policy) -> Self {
        let resolvers = Resolvers {
            callers: Arc::new(SystemResolver::default()),
            administrators: Arc::new(SystemResolver::default()),
        };
        Self { policy: Arc::new(policy), resolvers, resolve_limit: Duration::from_secs(2) }
    }

    /// Finds addresses by other means.
    #[must_use]
    pub fn resolver(mut self, resolver: impl Resolver) -> Self {
        let resolver: Arc<dyn Resolver> = Arc::new(resolver);
        self.resolvers = Resolvers { callers: Arc::clone(&resolver), administrators: resolver };
        self
    }

    /// Sets how long finding the addresses of a name may take.
    #[must_use]
    pub fn resolve_limit(mut self, limit: Duration) -> Self {
        self.resolve_limit = limit;
        self
    }

    /// Judges a URL by its text alone: spelling, scheme, port, and the address if it names one.
    ///
    /// Asks no resolver, so a name that leads to a bad address passes; see
    /// [`Guard::check_resolved`].
    pub fn check_url(&self, text: &str, errand: Errand) -> Result<CheckedUrl, Refused> {
        let url = CheckedUrl::parse(text, errand)?;
        self.check_again(&url)?;
        Ok(url)
    }

    /// Judges a URL by its text and by every address its name has now.
    ///
    /// Fails too when the name cannot be resolved: what cannot be checked is not reached.
    pub async fn check_resolved(&self, text: &str, errand: Errand) -> Result<CheckedUrl, Error> {
        let url = self.check_url(text, errand)?;
        self.addresses(&url).await?;
        Ok(url)
    }

    /// Returns the addresses to connect to, all of them allowed.
    ///
    /// Asks the resolver once. One address that is not allowed refuses the name, since the
    /// others are then no sign of good faith.
    pub async fn addresses(&self, url: &CheckedUrl) -> Result<Vec<SocketAddr>, Error> {
        self.check_again(url)?;
        let candidates = match url.host() {
            Host::Address(address) => vec![*address],
            Host::Localhost => self.open_loopback(url),
            Host::Name(name) => self.resolve(name, url.errand().trust).await?,
        };
        let addresses = candidates.into_iter().map(|address| SocketAddr::new(address, url.port()));
        let addresses: Vec<_> = addresses.collect();
        for address in &addresses {
            // The error keeps the address from whoever asked; operators need it.
            self.judge(url, *address).inspect_err(|refused| {
                debug!(host = url.host_text(), %address, code = refused.code().as_str(), "refused");
            })?;
        }
        Ok(addresses)
    }

    /// Returns how long finding addresses may take.
    pub(crate) fn limit(&self) -> Duration {
        self.resolve_limit
    }

    /// Judges what a URL's text says, for URLs that another guard may have checked.
    fn check_again(&self, url: &CheckedUrl) -> Result<(), Refused> {
        let is_loopback = match url.host() {
            Host::Address(address) => address.to_canonical().is_loopback(),
            Host::Localhost => true,
            Host::Name(_) => false,
        };
        if !url.is_https() && !self.policy.allows_http(url.errand(), is_loopback) {
            return Err(Refused::PlainHttp { purpose: url.errand().purpose });
        }
        match url.host() {
            Host::Address(address) => self.judge(url, SocketAddr::new(*address, url.port())),
            Host::Localhost if self.open_loopback(url).is_empty() => {
                self.judge(url, SocketAddr::new(LOCALHOST[0], url.port()))
            }
            Host::Localhost | Host::Name(_) => Ok(()),
        }
    }

    /// Returns those addresses of `localhost` that may be reached.
    ///
    /// Unlike a name's, they are the same everywhere, so opening one of them is enough.
    fn open_loopback(&self, url: &CheckedUrl) -> Vec<IpAddr> {
        let is_open = |address: &IpAddr| self.judge(url, SocketAddr::new(*address, url.port()));
        LOCALHOST.into_iter().filter(|address| is_open(address).is_ok()).collect()
    }

    async fn resolve(&self, name: &str, trust: Trust) -> Result<Vec<IpAddr>, Error> {
        let resolver = match trust {
            Trust::Caller => &self.resolvers.callers,
            Trust::Administrator => &self.resolvers.administrators,
        };
        let failed = |source| Error::Resolve { host: name.to_owned(), source: Arc::new(source) };
        let found = tokio::time::timeout(self.resolve_limit, resolver.resolve(name)).await;
        let addresses = found
            .map_err(|_| Error::Timeout { clock: Clock::Resolve, limit: self.resolve_limit })?
            .map_err(failed)?;
        if addresses.is_empty() {
            return Err(failed(io::ErrorKind::NotFound.into()));
        }
        Ok(addresses)
    }

    /// Judges one address, and every IPv4 address hidden in it.
    fn judge(&self, url: &CheckedUrl, address: SocketAddr) -> Result<(), Refused> {
        let host = || url.host_text().to_owned();
        let inside = match address.ip() {
            IpAddr::V4(_) => Vec::new(),
            IpAddr::V6(address) => hidden::inside(address),
        };
        let inside = inside.into_iter().map(IpAddr::V4);
        let all: Vec<IpAddr> = std::iter::once(address.ip()).chain(inside).collect();
        if all.iter().any(|address| ranges::is_metadata(*address)) {
            return Err(Refused::Metadata { host: host() });
        }
        if all.iter().any(|address| self.policy.forbids(*address)) {
            return Err(Refused::Forbidden { host: host() });
        }
        if all.iter().any(|ip| self.policy.listens_at(SocketAddr::new(*ip, address.port()))) {
            return Err(Refused::OwnListener { host: host() });
        }
        for address in all {
            let Some(range) = special(address) else { continue };
            let is_open = match range.standing {
                Standing::Inner => true,
                Standing::Closed => self.policy.opens(address, url.errand()),
                Standing::Never => false,
            };
            if !is_open {
                return Err(Refused::NotPublic { host: host(), range });
            }
        }
        Ok(())
    }
}

/// What `localhost` and all names under it mean (RFC 6761 §6.3), whatever a resolver says.
const LOCALHOST: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
