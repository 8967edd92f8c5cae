//! Looking for a card, place after place.

use std::{io::Read as _, path::Path, sync::Arc};

use nuncio_net::{Client, Errand, Purpose};
use nuncio_protocol::{
    card::{AgentCard, MAX_CARD_BYTES, inert, read_any},
    json,
};
use url::Url;

use super::{
    Ask, Found,
    error::{Error, Outcome, Tried},
    fetch::{Answer, Marks, Raw, fetch},
    keys::KeyCache,
    signature::{SignaturePolicy, Signatures, Verdict, judge},
    source::{base, is_at_root, is_named},
};
use crate::origin::shown;

/// A card and the marks of its edition.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) found: Arc<Found>,
    pub(super) marks: Marks,
}

/// Looks for a card. One that is known already is first asked after where it was.
pub(super) async fn look(
    client: &Client,
    keys: &KeyCache,
    ask: &Ask,
    known: Option<&Known>,
) -> Result<Known, Error> {
    let Some(given) = ask.source.as_url() else {
        return from_file(ask, keys).await;
    };
    if let Some(known) = known
        && let Some(unchanged) = look_again(client, keys, ask, known).await
    {
        return unchanged;
    }
    let source_name = ask.source.to_string();
    let errand = Errand { purpose: Purpose::Card, trust: ask.trust };
    let check = |text: &str| client.guard().check_url(text, errand);
    let refused = |refused| Error::Refused { source_name: source_name.clone(), refused };
    // The guard reads the text as it was given; from there on there is one spelling.
    let checked = check(given).map_err(refused)?;
    let Ok(given) = Url::parse(checked.as_str()) else {
        return Err(Error::nothing(source_name, Vec::new()));
    };
    let place = base(&given);
    let base = check(place.as_str()).map_err(refused)?;
    let mut tried = Vec::new();
    // Whether a card stands at its name, for others than us.
    let mut is_hidden = false;
    for candidate in ask.source.candidates(&given) {
        let url = check(candidate.as_str()).map_err(refused)?;
        let outcome = match fetch(client, &url, None, ask.credentials.as_deref()).await {
            Ok(Answer::Card(raw))
                if is_hidden && is_at_root(&candidate) && !leads_to(&raw.card, &place) =>
            {
                Outcome::AnotherAgent(inert(&raw.card.name))
            }
            Ok(Answer::Card(raw)) => {
                let Raw { card, form, text, marks } = *raw;
                let found = Found {
                    card,
                    form,
                    text,
                    url: Some(url),
                    base: Some(base),
                    trust: ask.trust,
                    verdict: Verdict::Unchecked,
                };
                return judged(found, marks, ask, keys).await;
            }
            // Nobody asked whether it changed.
            Ok(Answer::Unchanged(_)) => Outcome::Status(http::StatusCode::NOT_MODIFIED),
            Err(outcome) => outcome,
        };
        let is_final = outcome.is_final();
        is_hidden |= is_named(&candidate) && matches!(outcome, Outcome::NeedsCredentials(_));
        tried.push(Tried { url: shown(url.as_str()), outcome });
        if is_final {
            break;
        }
    }
    Err(Error::nothing(source_name, tried))
}

/// Tells whether a card may be that of an agent at a place: if the agent is called there, below, or
/// above.
fn leads_to(card: &AgentCard, place: &Url) -> bool {
    let is_below = |path: &str, base: &str| {
        let base = base.trim_end_matches('/');
        path.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    card.supported_interfaces.iter().any(|interface| {
        // Places that speak gRPC are often named without a scheme.
        let Some(url) = Url::parse(&interface.url).ok().filter(Url::has_host) else { return true };
        url.origin() == place.origin()
            && (is_below(url.path(), place.path()) || is_below(place.path(), url.path()))
    })
}

/// Asks for a known card where it was. `None` if it is no longer there.
async fn look_again(
    client: &Client,
    keys: &KeyCache,
    ask: &Ask,
    known: &Known,
) -> Option<Result<Known, Error>> {
    let url = known.found.url.as_ref()?;
    let marks = Some(&known.marks).filter(|marks| !marks.is_empty());
    let mut found = Found::clone(&known.found);
    let marks = match fetch(client, url, marks, ask.credentials.as_deref()).await.ok()? {
        Answer::Unchanged(marks) => {
            // What a signature is worth may have changed even so; the text tells what it covers.
            found.card = read_any(&found.text).ok()?.0;
            marks.or(&known.marks)
        }
        Answer::Card(raw) => {
            (found.card, found.form, found.text) = (raw.card, raw.form, raw.text);
            raw.marks
        }
    };
    Some(judged(found, marks, ask, keys).await)
}

async fn from_file(ask: &Ask, keys: &KeyCache) -> Result<Known, Error> {
    let path = ask.source.as_file().unwrap_or_else(|| Path::new("")).to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        // One byte more than allowed tells a card that is too large from one that just fits.
        let limit = MAX_CARD_BYTES as u64 + 1;
        let read = std::fs::File::open(&path)
            .and_then(|file| file.take(limit).read_to_end(&mut bytes))
            .map_err(|source| Error::File { path: path.clone(), source: Arc::new(source) });
        read.map(|_| bytes)
    });
    let bytes = read.await.map_err(|_| Error::BrokenOff)??;
    let source_name = ask.source.to_string();
    let invalid = |outcome| {
        let tried = vec![Tried { url: source_name.clone(), outcome }];
        Error::nothing(source_name.clone(), tried)
    };
    if bytes.len() > MAX_CARD_BYTES {
        let error = nuncio_net::Error::TooLarge { limit: MAX_CARD_BYTES };
        return Err(invalid(Outcome::Failed(error)));
    }
    let text = json::text(&bytes).map_err(|error| invalid(Outcome::NotACard(error)))?;
    let (card, form) = read_any(text).map_err(|error| invalid(Outcome::NotACard(error)))?;
    let found = Found {
        card,
        form,
        text: text.into(),
        url: None,
        base: None,
        trust: ask.trust,
        verdict: Verdict::Unchecked,
    };
    judged(found, Marks::default(), ask, keys).await
}

/// Adds the verdict on a card's signatures, and refuses it if the policy says so.
async fn judged(
    mut found: Found,
    marks: Marks,
    ask: &Ask,
    keys: &KeyCache,
) -> Result<Known, Error> {
    let off = Signatures::default();
    let signatures = ask.signatures.as_deref().unwrap_or(&off);
    let (verdict, covered) = judge(&found.text, found.url.as_ref(), signatures, keys).await;
    if signatures.policy() == SignaturePolicy::Require && !verdict.is_verified() {
        return Err(Error::Signature { source_name: ask.source.to_string(), verdict });
    }
    found.verdict = verdict;
    // What the signature does not cover could be anybody's.
    if let Some(card) = covered {
        found.card = card;
    }
    Ok(Known { found: Arc::new(found), marks })
}
