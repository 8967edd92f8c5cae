//! From a name to its addresses.

use std::{fmt, io, net::IpAddr, sync::Arc};

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

/// Finds the addresses of a name.
///
/// The guard asks once per connection, limits the time, and judges every address: a resolver
/// need not.
pub trait Resolver: fmt::Debug + Send + Sync + 'static {
    /// Returns every address of a name, the best first. The name is in ASCII and has no dot
    /// at its end.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Asks the operating system.
#[derive(Clone, Debug)]
pub struct SystemResolver {
    lookups: Arc<Semaphore>,
}

/// The system's lookups block a thread each and cannot be called off, so a domain whose
/// servers never answer holds one for many seconds. This many leave threads for others.
const LOOKUPS: usize = 64;

impl Default for SystemResolver {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(LOOKUPS)) }
    }
}

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let permit = Arc::clone(&self.lookups).acquire_owned().await;
            let permit = permit.map_err(io::Error::other)?;
            let name = name.to_owned();
            // The task outlives a caller that stops waiting, as the thread below it does: the
            // permit is free only when the thread is.
            let lookup = tokio::spawn(async move {
                let found = tokio::net::lookup_host((name.as_str(), 0)).await;
                drop(permit);
                found.map(|addresses| addresses.map(|address| address.ip()).collect())
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}
