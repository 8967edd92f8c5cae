//! The hub, of which a verifier learns the epoch.

use std::{sync::Weak, time::Duration};

use http::{
    HeaderValue, StatusCode,
    header::{ACCEPT, AUTHORIZATION},
};
use nuncio_net::{CheckedUrl, Client, Errand, Purpose, Refused, Request, Secret, Timeouts};
use nuncio_protocol::{ids::Organisation, json};
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{debug, warn};

use super::{claims::read_epoch, epoch::Epochs};

/// How long the hub may hold a question back until the epoch changes.
const WAIT: u64 = 25;
/// How long an answer may take beyond that.
const PATIENCE: Duration = Duration::from_secs(10);
/// The least time between two questions, should the hub not hold them back.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest time between two questions while the hub does not answer.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);
const MAX_BYTES: usize = 4 * 1024;

/// Where a verifier learns that the rules have changed.
///
/// It asks `GET <hub>/api/v1/epoch?organisation=…&after=n&wait=25` over and over. The hub
/// answers `{"epoch": n}` as soon as the epoch is higher than `after`, or after `wait` seconds.
#[derive(Clone, Debug)]
pub struct Hub {
    client: Client,
    url: CheckedUrl,
    credential: Option<HeaderValue>,
}

/// Why the epoch could not be learnt.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Net(#[from] nuncio_net::Error),
    #[error("the answer was {0}")]
    Status(StatusCode),
    #[error("the answer is not an epoch: {0}")]
    Format(#[from] json::Error),
}

impl Hub {
    /// Asks the hub at this URL, on the errand for keys.
    pub fn new(client: &Client, url: &str) -> Result<Self, Refused> {
        let url = client.guard().check_url(url, Errand::administrator(Purpose::Keys))?;
        Ok(Self { client: client.clone(), url, credential: None })
    }

    /// Shows the hub this key or token. One that cannot stand in a header is not shown.
    #[must_use]
    pub fn bearer(mut self, secret: &Secret) -> Self {
        self.credential = secret.to_header("Bearer ").ok();
        self
    }

    /// Asks until the verifier is gone.
    pub(super) async fn follow(self, organisation: Organisation, epochs: Weak<Epochs>) {
        let mut known = None;
        let mut pause = PAUSE;
        loop {
            let begun = Instant::now();
            let asked = self.ask(&organisation, known).await;
            let Some(epochs) = epochs.upgrade() else { return };
            match asked {
                Ok(epoch) => {
                    if !epochs.raise(epoch) {
                        let lowest = epochs.lowest();
                        warn!(epoch, lowest, "the hub set its epoch back; tokens stay refused");
                    }
                    known = Some(epoch.max(epochs.lowest()));
                    pause = PAUSE;
                    epochs.asked();
                    drop(epochs);
                    sleep_until(begun + PAUSE).await;
                }
                Err(error) => {
                    epochs.asked();
                    drop(epochs);
                    self.note(&error);
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    fn note(&self, error: &Error) {
        let error: &dyn std::error::Error = error;
        debug!(host = self.url.host_text(), error, "could not learn the epoch");
    }

    async fn ask(&self, organisation: &Organisation, known: Option<u64>) -> Result<u64, Error> {
        let url = self.url.below(&path(organisation, known)).map_err(nuncio_net::Error::from)?;
        let limit = if known.is_some() { Duration::from_secs(WAIT) + PATIENCE } else { PATIENCE };
        let mut request = Request::get(&url)
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .timeouts(Timeouts::default().first_byte(limit).whole(limit));
        if let Some(credential) = &self.credential {
            request = request.header(AUTHORIZATION, credential.clone());
        }
        let answer = self.client.send(request).await?;
        if answer.status() != StatusCode::OK {
            return Err(Error::Status(answer.status()));
        }
        let bytes = answer.collect(MAX_BYTES).await?;
        let mut epoch = None;
        json::read_with(json::text(&bytes)?, |reader| {
            reader.members(|reader, key| {
                if key != "epoch" {
                    return reader.skip();
                }
                epoch = Some(read_epoch(reader)?);
                Ok(())
            })
        })?;
        Ok(epoch.ok_or_else(|| json::Error::missing("epoch"))?)
    }
}

fn path(organisation: &Organisation, known: Option<u64>) -> String {
    let start = "/api/v1/epoch?".to_owned();
    let mut query = form_urlencoded::Serializer::for_suffix(start.clone(), start.len());
    query.append_pair("organisation", organisation.as_str());
    if let Some(known) = known {
        query.append_pair("after", &known.to_string()).append_pair("wait", &WAIT.to_string());
    }
    query.finish()
}
