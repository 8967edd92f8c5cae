//! Calls every agent that the command line names, and reports what came of it.

use std::{
    env,
    error::Error,
    fs::OpenOptions,
    io::Write as _,
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use futures::future::join_all;
use serde_json::json;

use super::{Caller, operate};

const OPERATIONS: [&str; 9] =
    ["send", "stream", "subscribe", "get", "list", "cancel", "push", "extended card", "errors"];

const BINDINGS: [&str; 3] = ["JSONRPC", "HTTP+JSON", "GRPC"];

/// Does all operations on all bindings for the agents of the command line, `WAY=URL` each, with
/// a client on a package.
pub async fn call_all<C: Caller>(peer: &str, package: &str) -> Result<(), Box<dyn Error>> {
    let sdk = locked(package).ok_or("nobody has locked the package")?;
    for target in env::args().skip(1) {
        let (way, url) = target.split_once('=').ok_or("an agent is WAY=URL")?;
        // It opens the extended card of an agent that is called directly.
        let key = env::var("NUNCIO_INTEROP_KEY").ok().filter(|_| way == "direct");
        for binding in BINDINGS {
            let caller = C::connect(url, binding, key.as_deref()).await;
            let caller = caller.map_err(|problem| format!("{way} {binding}: {}", problem.text))?;
            let done = OPERATIONS.map(|operation| operate(&caller, operation));
            for (operation, outcome) in OPERATIONS.iter().zip(join_all(done).await) {
                let problem = outcome.err().map(|problem| problem.text);
                let problem: Option<String> = problem.map(|text| text.chars().take(600).collect());
                write(&json!({
                    "peer": peer, "sdk": sdk, "role": "client", "binding": binding,
                    "version": "1.0", "way": way, "operation": operation, "problem": problem,
                }))?;
            }
        }
    }
    Ok(())
}

/// Returns the version of a package.
fn locked(package: &str) -> Option<&'static str> {
    let lock = include_str!("../../Cargo.lock");
    let (_, rest) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    Some(rest.split_once('"')?.0)
}

fn write(line: &serde_json::Value) -> Result<(), Box<dyn Error>> {
    if let Some(file) = env::var_os("NUNCIO_INTEROP_REPORT") {
        let mut report = OpenOptions::new().create(true).append(true).open(file)?;
        // In one piece: others write, too.
        report.write_all(format!("{line}\n").as_bytes())?;
    }
    Ok(())
}

/// Returns what nobody else calls a message.
pub(super) fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("rust-{}-{begun}-{count}", std::process::id())
}
