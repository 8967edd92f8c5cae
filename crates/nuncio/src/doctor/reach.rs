//! Whether anything answers where the agent is said to be.

use nuncio_client::{Origin, discover::Source};
use nuncio_net::{Clock, Error};

use super::{
    check::Check,
    report::Report,
    wire::{Sent, Wire, chain},
};

/// Returns whether something answers.
pub(crate) async fn check(wire: &Wire, source: &Source, report: &mut Report) -> bool {
    let url = match wire.check_url(source.as_url().unwrap_or_default()) {
        Ok(url) => url,
        Err(refused) => {
            report.fail(Check::ReachUrl, refused.to_string());
            report.because(refused.code().cause(), refused.code().fix());
            return false;
        }
    };
    report.pass(Check::ReachUrl);
    match wire.net.guard().addresses(&url).await {
        Ok(addresses) => {
            let list: Vec<String> = addresses.iter().map(|one| one.ip().to_string()).collect();
            report.pass_with(Check::ReachDns, format!("the host is at {}", list.join(", ")));
        }
        Err(error) => {
            report.fail(Check::ReachDns, chain(&error));
            return false;
        }
    }
    let origin = Origin::of(&url);
    if origin.is_https() || origin.is_loopback() {
        report.pass(Check::ReachEncrypted);
    } else {
        report.warn(Check::ReachEncrypted, format!("{origin} is plain http"));
    }
    // A place that every agent has; what it answers does not matter yet.
    let place = format!("{}/.well-known/agent-card.json", url.origin());
    let place = wire.check_url(&place).unwrap_or(url);
    let error = match wire.send(Sent::get(&place).anonymous()).await {
        // Whatever the answer is, there is one; a large one too.
        Ok(_) | Err(Error::TooLarge { .. }) => {
            pass(report, origin.is_https(), &[Check::ReachTcp, Check::ReachTls, Check::ReachHttp]);
            return true;
        }
        Err(error) => error,
    };
    let (failed, before): (Check, &[Check]) = match &error {
        Error::Tls { .. } => (Check::ReachTls, &[Check::ReachTcp]),
        Error::Http { .. } => (Check::ReachHttp, &[Check::ReachTcp, Check::ReachTls]),
        Error::Timeout { clock: Clock::FirstByte | Clock::Idle | Clock::Whole, .. } => {
            (Check::ReachHttp, &[Check::ReachTcp, Check::ReachTls])
        }
        _ => (Check::ReachTcp, &[]),
    };
    pass(report, origin.is_https(), before);
    report.fail(failed, chain(&error));
    false
}

fn pass(report: &mut Report, is_https: bool, checks: &[Check]) {
    for check in checks {
        if *check == Check::ReachTls && !is_https {
            report.skip(*check, "the URL is http");
        } else {
            report.pass(*check);
        }
    }
}
