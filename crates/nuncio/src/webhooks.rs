//! Where the webhooks of `nuncio serve` and `nuncio mock` may lead.

use clap::Args;
use nuncio_net::{Client, Guard, Policy};
use nuncio_tasks::push::{Push, SealingKey};

#[derive(Debug, Default, Args)]
#[group(skip)]
pub(crate) struct Webhooks {
    /// Let webhooks lead to this machine, over http too, for development and tests. Whoever may
    /// call the agent can then have it call every service here.
    #[arg(long)]
    allow_loopback_webhooks: bool,
}

impl Webhooks {
    /// Returns what sends them, with secrets under this key.
    pub(crate) fn push(&self, key: SealingKey) -> Push {
        let mut policy = Policy::default();
        if self.allow_loopback_webhooks {
            policy = policy.dangerously_open_loopback_to_callers();
        }
        Push::new(Client::new(Guard::new(policy)), key)
    }
}
