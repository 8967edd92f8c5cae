//! Keys that signatures of cards point to, fetched once and kept for a while.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http::{HeaderValue, StatusCode, header::ACCEPT};
use nuncio_net::{CheckedUrl, Client, Request, Timeouts};
use nuncio_protocol::{card::sign::KeySet, json};
use tokio::time::Instant;

use crate::flight::Flight;

/// After this time keys are fetched anew before they are used.
const FRESH: Duration = Duration::from_secs(10 * 60);
/// The time between two fetches for the sake of a name that is not among the keys.
const PAUSE: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(5);
const MAX_BYTES: usize = 256 * 1024;
const MAX_KEYS: usize = 100;
const MAX_PLACES: usize = 256;

/// The keys of every place that was asked.
#[derive(Debug)]
pub(super) struct KeyCache {
    client: Client,
    places: Mutex<HashMap<String, Arc<Place>>>,
}

#[derive(Debug)]
struct Place {
    url: CheckedUrl,
    held: Mutex<Option<Held>>,
    flight: Flight<Result<Arc<KeySet>, String>>,
}

#[derive(Clone, Debug)]
struct Held {
    keys: Arc<KeySet>,
    at: Instant,
}

impl KeyCache {
    pub(super) fn new(client: Client) -> Self {
        Self { client, places: Mutex::default() }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the keys at a URL, fetched anew if they are old or lack the one wanted. Says
    /// why not, for people.
    pub(super) async fn holding(&self, url: &CheckedUrl, kid: &str) -> Result<Arc<KeySet>, String> {
        let place = self.place(url);
        if let Some(keys) = place.usable(kid, Instant::now()) {
            return Ok(keys);
        }
        let landed = place
            .flight
            .join(|| {
                let (client, place) = (self.client.clone(), Arc::clone(&place));
                async move {
                    let keys = fetch(&client, &place.url).await.map(Arc::new)?;
                    *place.held() = Some(Held { keys: Arc::clone(&keys), at: Instant::now() });
                    Ok(keys)
                }
            })
            .await;
        landed.result.unwrap_or_else(|| Err("the fetch was broken off".to_owned()))
    }

    fn place(&self, url: &CheckedUrl) -> Arc<Place> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        // Trust is part of the name: what an administrator may see a caller may not.
        let key = format!("{:?} {}", url.errand().trust, url.as_str());
        if places.len() >= MAX_PLACES && !places.contains_key(&key) {
            places.clear();
        }
        let place = places.entry(key).or_insert_with(|| {
            Arc::new(Place { url: url.clone(), held: Mutex::default(), flight: Flight::default() })
        });
        Arc::clone(place)
    }
}

impl Place {
    fn usable(&self, kid: &str, now: Instant) -> Option<Arc<KeySet>> {
        let held = self.held().clone()?;
        let age = now.duration_since(held.at);
        let limit = if held.keys.contains(kid) { FRESH } else { PAUSE };
        (age < limit).then_some(held.keys)
    }

    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn fetch(client: &Client, url: &CheckedUrl) -> Result<KeySet, String> {
    let request = Request::get(url)
        .header(ACCEPT, HeaderValue::from_static("application/jwk-set+json, application/json"))
        .timeouts(Timeouts::default().whole(PATIENCE));
    let answer = client.send(request).await.map_err(|error| error.to_string())?;
    if answer.status() != StatusCode::OK {
        return Err(format!("the answer was {}", answer.status()));
    }
    let body = answer.collect(MAX_BYTES).await.map_err(|error| error.to_string())?;
    let keys: KeySet =
        json::from_slice(&body).map_err(|error| format!("not a set of keys: {error}"))?;
    match keys.iter().count() {
        count if count > MAX_KEYS => Err(format!("there are {count} keys, more than {MAX_KEYS}")),
        _ => Ok(keys),
    }
}
