//! The card: whether it is there, whether it is right, and where it leads.

use std::{sync::Arc, time::Duration};

use nuncio_client::{
    Origin,
    credentials::{Kind, required},
    discover::{
        self, Ask, CardCache, Found, Outcome as Tried, SignaturePolicy, Signatures as Keys, Source,
        Verdict,
    },
    negotiate::{Negotiated, Reason, Terms, negotiate},
};
use nuncio_net::{CheckedUrl, Trust};
use nuncio_protocol::{
    card::{AgentCard, Severity, lint_text, sign},
    json::{self, read_with},
    version::Version,
};

use super::{
    Signatures,
    check::Check,
    report::{Report, shown},
    wire::{Sent, Wire, chain, is_json},
};

/// A card that was found, and the ways to its agent.
pub(crate) struct Seen {
    pub(crate) found: Arc<Found>,
    pub(crate) ways: Negotiated,
}

/// Answers that need no work should begin within this time.
pub(crate) const SLOW: Duration = Duration::from_secs(2);

const LARGE: usize = 256 << 10;

/// Returns the card, if there is one.
pub(crate) async fn check(
    wire: &Wire,
    source: &Source,
    signatures: Signatures,
    report: &mut Report,
) -> Option<Seen> {
    let cards = CardCache::new(wire.net.clone());
    let policy = match signatures {
        Signatures::Off => SignaturePolicy::Off,
        // Require is ours to report, with everything else that there is to say about the card.
        Signatures::Prefer | Signatures::Require => SignaturePolicy::Prefer,
    };
    let mut ask =
        Ask::new(source.clone(), Trust::Administrator).signatures(Arc::new(Keys::new(policy)));
    if let Some(credentials) = &wire.credentials {
        ask = ask.credentials(Arc::clone(credentials));
    }
    let found = match cards.get(&ask).await {
        Ok(cached) => cached.found,
        Err(error) => {
            not_found(&error, report);
            return None;
        }
    };
    let card = &found.card;
    report.agent = Some(shown(&format!("{} {}", card.name, card.version)));
    report.pass(Check::CardValid);
    if let Some(url) = &found.url {
        report.pass_with(Check::CardFound, format!("the card is at {}", url.as_str()));
        if url.as_str().ends_with("/.well-known/agent-card.json") {
            report.pass(Check::CardPlace);
        } else {
            report.warn(Check::CardPlace, format!("the card is at {}", url.as_str()));
        }
        served(wire, url, report).await;
    }
    if found.text.len() > LARGE {
        report.warn(Check::CardSize, format!("the card has {} bytes", found.text.len()));
    } else {
        report.pass_with(Check::CardSize, format!("the card has {} bytes", found.text.len()));
    }
    lints(&found.text, report);
    signature(&found, signatures, report);
    let ways = negotiate(&found, &Terms::default(), wire.net.guard());
    interfaces(&found, &ways, report);
    Some(Seen { found, ways })
}

/// Says whether what the card demands is known, and was given.
pub(crate) fn check_security(card: &AgentCard, has_credentials: bool, report: &mut Report) {
    report.about(None);
    let demands = required(card);
    let is_known = |kind: &Kind| !matches!(kind, Kind::Unknown { .. });
    if demands.is_empty() {
        report.pass_with(Check::CardSecurity, "the card demands no credentials");
        report.pass_with(Check::CardCredentials, "the card demands no credentials");
        return;
    }
    let texts: Vec<String> = demands.iter().map(ToString::to_string).collect();
    let texts = texts.join(", or ");
    if demands.iter().any(|one| one.all_of.iter().all(is_known)) {
        report.pass_with(Check::CardSecurity, format!("the card demands {texts}"));
    } else {
        report.fail(Check::CardSecurity, format!("the card demands {texts}"));
    }
    if has_credentials {
        report.pass(Check::CardCredentials);
    } else {
        report.warn(Check::CardCredentials, format!("none were given; the card demands {texts}"));
    }
}

fn not_found(error: &discover::Error, report: &mut Report) {
    let invalid = error.tried().iter().find(|one| matches!(one.outcome, Tried::NotACard(_)));
    if let Some(invalid) = invalid {
        report.pass_with(Check::CardFound, format!("there is a document at {}", invalid.url));
        report.fail(Check::CardValid, chain(error));
        return;
    }
    let too_large = |one: &&discover::Tried| {
        matches!(one.outcome, Tried::Failed(nuncio_net::Error::TooLarge { .. }))
    };
    if let Some(large) = error.tried().iter().find(too_large) {
        report.pass_with(Check::CardFound, format!("there is a document at {}", large.url));
        return report.fail(Check::CardSize, large.outcome.to_string());
    }
    report.fail(Check::CardFound, chain(error));
    let needs = |one: &discover::Tried| matches!(one.outcome, Tried::NeedsCredentials(_));
    let leads = |one: &discover::Tried| matches!(one.outcome, Tried::Redirected { .. });
    if error.tried().iter().any(needs) {
        report.because("the card is shown to known callers only", "give `--bearer` or `--api-key`");
    } else if error.tried().iter().any(leads) {
        report.because(
            "the server redirects, and redirects of cards are not followed",
            "name the URL that the redirect leads to, or serve the card there",
        );
    }
}

/// Looks at how the card is served.
async fn served(wire: &Wire, url: &CheckedUrl, report: &mut Report) {
    let reply = match wire.send(Sent::get(url)).await {
        Ok(reply) => reply,
        Err(error) => {
            report.warn(Check::CardCaching, format!("the card came only once: {}", chain(&error)));
            return;
        }
    };
    let media_type = reply.media_type();
    if is_json(&media_type) {
        report.pass(Check::CardMediaType);
    } else {
        report.warn(Check::CardMediaType, format!("the card comes as `{media_type}`"));
    }
    match reply.header("cache-control") {
        Some(value) => report.pass_with(Check::CardCaching, format!("Cache-Control: {value}")),
        None => report.warn(Check::CardCaching, "there is no Cache-Control"),
    }
    match reply.header("access-control-allow-origin") {
        Some(value) => report.pass_with(Check::CardCors, format!("pages of {value} can read it")),
        None => report.pass_with(Check::CardCors, "pages of other origins cannot read it"),
    }
    let seconds = reply.waited.as_secs_f32();
    if reply.waited > SLOW {
        report.warn(Check::TimingCard, format!("the card took {seconds:.1} s"));
    } else {
        report.pass(Check::TimingCard);
    }
    let condition = match (reply.header("etag"), reply.header("last-modified")) {
        (Some(tag), _) => ("if-none-match", tag),
        (None, Some(moment)) => ("if-modified-since", moment),
        (None, None) => {
            report.warn(Check::CardRevalidation, "there is neither ETag nor Last-Modified");
            return;
        }
    };
    let again = Sent::get(url).header(condition.0, condition.1);
    match wire.send(again).await {
        Ok(reply) if reply.status == http::StatusCode::NOT_MODIFIED => {
            report.pass(Check::CardRevalidation);
        }
        Ok(reply) => {
            let text = format!("asked with {}, it answers {}", condition.0, reply.status);
            report.warn(Check::CardRevalidation, text);
        }
        Err(error) => report.warn(Check::CardRevalidation, chain(&error)),
    }
}

fn lints(text: &str, report: &mut Report) {
    let problems = lint_text(text).unwrap_or_default();
    if problems.is_empty() {
        report.pass(Check::CardLint);
    }
    // A card can be wrong in a thousand ways at once; nobody reads that far.
    for problem in problems.iter().take(50) {
        let place = if problem.field.is_empty() { "the card" } else { &problem.field };
        let what = format!("{}: {place}: {}", problem.code(), problem.what);
        match problem.severity() {
            Severity::Error => report.fail(Check::CardLint, what),
            Severity::Warning => report.warn(Check::CardLint, what),
        }
        report.because(problem.rule.cause(), problem.fix());
    }
}

fn signature(found: &Found, wanted: Signatures, report: &mut Report) {
    let headers = sign::headers(&found.text).unwrap_or_default();
    let home = found.url.as_ref().map(Origin::of);
    if headers.is_empty() {
        report.skip(Check::CardKeys, "the card is not signed");
    } else {
        let is_home = |url: &String| Origin::parse(url).ok() == home && home.is_some();
        let places: Vec<&String> = headers.iter().filter_map(|one| one.jku.as_ref()).collect();
        match places.iter().find(|url| is_home(url)) {
            Some(url) => report.pass_with(Check::CardKeys, format!("its keys are at {url}")),
            None if places.is_empty() => {
                report.warn(Check::CardKeys, "no signature says where its key is");
            }
            None => report.warn(Check::CardKeys, "the keys are at another origin than the card"),
        }
    }
    match (&found.verdict, wanted) {
        (Verdict::Unchecked, _) => report.skip(Check::CardSignature, "--signatures off"),
        (Verdict::Verified { .. }, _) => {
            report.pass_with(Check::CardSignature, found.verdict.to_string());
        }
        (Verdict::Unsigned, Signatures::Require) => {
            report.fail(Check::CardSignature, "the card is not signed");
            report.because("the agent does not sign its card", "sign the card");
        }
        (Verdict::Unsigned, _) => report.skip(Check::CardSignature, "the card is not signed"),
        (verdict, _) => report.fail(Check::CardSignature, verdict.to_string()),
    }
}

/// Looks at where the card leads.
fn interfaces(found: &Found, ways: &Negotiated, report: &mut Report) {
    let mut unroutable = false;
    let mut insecure = false;
    for rejected in &ways.rejected {
        let text = rejected.to_string();
        match &rejected.reason {
            Reason::Unroutable { .. } | Reason::Localhost { .. } => {
                unroutable = true;
                report.fail(Check::CardRoutable, text);
            }
            Reason::Insecure { .. } => {
                insecure = true;
                report.fail(Check::CardHttps, text);
            }
            Reason::Refused(refused) => {
                report.fail(Check::CardInterfaces, text);
                report.because(refused.code().cause(), refused.code().fix());
            }
            // A binding of somebody's own is allowed; we just cannot try it.
            Reason::Binding => report.warn(Check::CardInterfaces, text),
            _ => report.fail(Check::CardInterfaces, text),
        }
    }
    if ways.interfaces.is_empty() && ways.rejected.is_empty() {
        report.fail(Check::CardInterfaces, "the card names no interface");
    } else if ways.rejected.is_empty() {
        report.pass(Check::CardInterfaces);
    }
    if !unroutable {
        report.pass(Check::CardRoutable);
    }
    let home = found.url.as_ref().map(Origin::of);
    let origins = || ways.interfaces.iter().map(|one| Origin::of(&one.url));
    let is_plain = |origin: &Origin| !origin.is_https() && !origin.is_loopback();
    match origins().find(is_plain) {
        Some(origin) => report.warn(Check::CardHttps, format!("{origin} is plain http")),
        None if !insecure => report.pass(Check::CardHttps),
        None => {}
    }
    let is_near = |origin: &Origin, home: &Origin| {
        origin == home || (origin.is_loopback() && home.is_loopback())
    };
    let far = home.and_then(|home| origins().find(|origin| !is_near(origin, &home)));
    match far {
        Some(origin) => report.warn(Check::CardOrigin, format!("an interface is at {origin}")),
        None => report.pass(Check::CardOrigin),
    }
    let known = |version: &str| {
        Version::parse(version).is_some_and(|one| one.major <= 1 && one >= Version::V0_2)
    };
    match versions(&found.text).iter().find(|version| !known(version)) {
        Some(version) if version.is_empty() => {
            report.fail(Check::CardVersion, "an interface says nothing");
        }
        Some(version) => report.fail(Check::CardVersion, format!("an interface says `{version}`")),
        None => report.pass(Check::CardVersion),
    }
}

/// Returns the versions as the card has them: who reads it fills in what is missing.
fn versions(text: &str) -> Vec<String> {
    let mut versions = Vec::new();
    // A card that cannot be read is reported elsewhere.
    let _ = read_with(text, |reader| {
        reader.members(|reader, key| {
            if key != "supportedInterfaces" {
                return reader.skip();
            }
            reader.items(|reader| {
                let mut version = String::new();
                reader.members(|reader, key| {
                    if key == "protocolVersion" && reader.peek()? == json::Kind::String {
                        reader.string()?.trim().clone_into(&mut version);
                        return Ok(());
                    }
                    reader.skip()
                })?;
                versions.push(version);
                Ok(())
            })
        })
    });
    versions
}
