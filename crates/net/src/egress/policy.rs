//! What an administrator decides about the way out.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
};

use ipnet::IpNet;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Purpose {
    /// Telling a webhook about a task.
    Webhook,
    /// Fetching an agent card.
    Card,
    /// Fetching the keys that verify signatures.
    Keys,
    /// Calling an agent.
    Agent,
    /// Fetching or storing a file.
    File,
    /// An HTTP step of a workflow.
    Workflow,
}

/// Who supplied a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trust {
    /// A caller, a remote agent, a card: anybody. Only public addresses are reached.
    Caller,
    /// An administrator, by configuration or registration. Ranges that the policy opens for
    /// the purpose are reached too.
    Administrator,
}

/// For what a request is sent, and on whose word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Errand {
    /// What it is for.
    pub purpose: Purpose,
    /// Who supplied the URL.
    pub trust: Trust,
}

/// What may be reached beside public addresses over https, which always may.
///
/// ```
/// use nuncio_net::{Errand, Guard, Policy, Purpose};
///
/// let policy = Policy::default().open(Purpose::Agent, "10.20.0.0/16".parse().unwrap());
/// let guard = Guard::new(policy);
/// let inside = "https://10.20.0.7/a2a";
/// assert!(guard.check_url(inside, Errand::administrator(Purpose::Agent)).is_ok());
/// assert!(guard.check_url(inside, Errand::caller(Purpose::Agent)).is_err());
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Policy {
    opened: Vec<(Purpose, IpNet)>,
    plain: Vec<Errand>,
    forbidden: Vec<IpNet>,
    listeners: Vec<SocketAddr>,
    loopback_for_everyone: bool,
}

impl Purpose {
    /// Every purpose.
    pub const ALL: [Self; 6] =
        [Self::Webhook, Self::Card, Self::Keys, Self::Agent, Self::File, Self::Workflow];
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Webhook => "webhooks",
            Self::Card => "agent cards",
            Self::Keys => "keys",
            Self::Agent => "agents",
            Self::File => "files",
            Self::Workflow => "workflows",
        })
    }
}

impl Errand {
    /// Every errand.
    pub fn all() -> impl Iterator<Item = Self> {
        Purpose::ALL
            .into_iter()
            .flat_map(|purpose| [Self::caller(purpose), Self::administrator(purpose)])
    }

    /// An errand to a URL that a caller supplied.
    pub const fn caller(purpose: Purpose) -> Self {
        Self { purpose, trust: Trust::Caller }
    }

    /// An errand to a URL that an administrator registered.
    pub const fn administrator(purpose: Purpose) -> Self {
        Self { purpose, trust: Trust::Administrator }
    }
}

impl Policy {
    /// Opens a range of addresses for targets that administrators registered for a purpose.
    ///
    /// Link-local, multicast and metadata addresses stay closed even if the range holds them.
    pub fn open(mut self, purpose: Purpose, range: IpNet) -> Self {
        self.opened.push((purpose, range));
        self
    }

    /// Allows http beside https for an errand.
    pub fn allow_http(mut self, errand: Errand) -> Self {
        self.plain.push(errand);
        self
    }

    /// Closes a range of addresses for everybody, though it may be public.
    pub fn forbid(mut self, range: IpNet) -> Self {
        self.forbidden.push(range);
        self
    }

    /// Names an address that this program listens at, so that it never calls itself.
    ///
    /// `0.0.0.0` and `::` stand for every address that this machine knows to be its own. An
    /// address that only a router in front of it has must be named too.
    pub fn forbid_listener(mut self, listener: SocketAddr) -> Self {
        self.listeners.push(listener);
        self
    }

    /// Opens loopback addresses to everybody, callers included, over http too.
    ///
    /// For development and conformance kits, whose webhooks listen at `localhost`. Whoever
    /// can talk to the program can then make it talk to every service on this machine.
    pub fn dangerously_open_loopback_to_callers(mut self) -> Self {
        self.loopback_for_everyone = true;
        self
    }

    pub(super) fn allows_http(&self, errand: Errand, is_loopback: bool) -> bool {
        self.plain.contains(&errand) || (is_loopback && self.loopback_for_everyone)
    }

    pub(super) fn opens(&self, address: IpAddr, errand: Errand) -> bool {
        let is_listed = |(purpose, range): &(Purpose, IpNet)| {
            *purpose == errand.purpose && range.contains(&address)
        };
        (errand.trust == Trust::Administrator && self.opened.iter().any(is_listed))
            || (self.loopback_for_everyone && address.is_loopback())
    }

    pub(super) fn forbids(&self, address: IpAddr) -> bool {
        self.forbidden.iter().any(|range| range.contains(&address))
    }

    pub(super) fn listens_at(&self, address: SocketAddr) -> bool {
        let same_port = self.listeners.iter().filter(|own| own.port() == address.port());
        same_port.into_iter().any(|own| {
            own.ip().to_canonical() == address.ip()
                || (own.ip().is_unspecified() && is_this_machine(address.ip()))
        })
    }
}

/// Tells whether an address is one of this machine's: the source that the kernel would take
/// to reach it is then the address itself. Nothing is sent.
fn is_this_machine(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let source = || {
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect((address, 9))?;
        socket.local_addr()
    };
    address.is_loopback()
        || address.is_unspecified()
        || source().is_ok_and(|source| source.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::is_this_machine;

    #[track_caller]
    fn check(address: &str, expected: bool) {
        assert_eq!(is_this_machine(address.parse().unwrap()), expected, "{address}");
    }

    #[test]
    fn this_machine_is_told_from_others() {
        check("127.0.0.1", true);
        check("127.9.9.9", true);
        check("0.0.0.0", true);
        check("::1", true);
        check("192.0.2.1", false);
        check("2001:db8::1", false);
    }
}
