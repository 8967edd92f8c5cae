//! Callers of the hub whose client certificate says who they are.

use nuncio_testkit::program::Program;

use crate::cli::{
    issuer::Issuer,
    support::{Came, User},
};

const CONFIGURATION: &str = "
tls: {certificate: hub.pem, key: hub.key, client_ca: issuer.pem}
authentication:
  certificates:
    agents_by_domain: agents.example
    callers:
      - {caller: 'user:ann', dns_name: ann.example}
agents:
  - {name: open, kind: echo}
  - {name: closed, kind: echo}
  - {name: billing, url: 'https://billing.example', heartbeat: true}
rules:
  - {effect: deny, caller: 'user:ann', target: closed}
  - {effect: allow, caller: billing, target: closed}
";

/// A hub with TLS, and somebody who issues certificates for it.
struct Town {
    user: User,
    issuer: Issuer,
    hub: Program,
}

impl Town {
    fn new() -> Self {
        let (user, issuer) = (User::new(), Issuer::new());
        let (chain, key) = issuer.server();
        user.write("hub.pem", &chain);
        user.write("hub.key", &key);
        user.write("issuer.pem", &issuer.pem());
        user.write("nuncio.yaml", CONFIGURATION);
        let mut command = user.command(&["up", "--port", "0"]);
        let hub = Program::start_until(&mut command, "listening on https://");
        Self { user, issuer, hub }
    }

    /// Calls an agent with a certificate for a name.
    fn call(&self, name: &str, agent: &str, more: &[&str]) -> Came {
        self.call_with(self.issuer.client(name), agent, more)
    }

    fn call_with(&self, (chain, key): (String, String), agent: &str, more: &[&str]) -> Came {
        self.user.write("caller.pem", &(chain + &key));
        self.call_plain(agent, &[&["--cert", "caller.pem"], more].concat())
    }

    /// Calls an agent without a certificate.
    fn call_plain(&self, agent: &str, more: &[&str]) -> Came {
        let url = format!("https://{}/agents/{agent}", self.hub.address());
        let words = ["send", "-a", &url, "hello", "--ca-cert", "issuer.pem"];
        self.user.run(&[&words, more].concat())
    }
}

#[track_caller]
fn check_answered(came: &Came) {
    assert!(came.code == 0 && came.out.contains("Text: hello\n"), "{came:?}");
}

#[track_caller]
fn check_refused(came: &Came, code: i32) {
    assert!(came.code == code && came.out.is_empty(), "{came:?}");
}

#[test]
fn a_certificate_lets_in_whom_it_means_and_the_rules_know_them() {
    let town = Town::new();
    for transport in ["jsonrpc", "http+json", "grpc"] {
        check_answered(&town.call("ann.example", "open", &["--transport", transport]));
    }
    // For whom an agent is not, it is not there; what is there in its place is the hub itself.
    check_refused(&town.call("ann.example", "closed", &[]), 1);
    // An agent is known by its name.
    check_answered(&town.call("billing.agents.example", "closed", &[]));
    check_refused(&town.call("billing.agents.example", "open", &[]), 1);

    // Nobody is meant by these: no rule, no such agent.
    check_refused(&town.call("bob.example", "open", &[]), 4);
    check_refused(&town.call("nobody.agents.example", "closed", &[]), 4);
    check_refused(&town.call_plain("open", &[]), 4);
    check_refused(&town.call_with(Issuer::new().client("ann.example"), "open", &[]), 3);
    // Two proofs are one too many.
    let key = town.user.home().join(".local/share/nuncio/hub/admin.key");
    let key = std::fs::read_to_string(key).unwrap();
    let came = town.call("ann.example", "open", &["--bearer", key.trim()]);
    assert!(came.code != 0 && came.out.is_empty(), "{came:?}");
}
