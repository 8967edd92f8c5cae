//! One webhook that has been taken: its events are sent in order, until there is none left, one
//! is not taken, or time is up.

use std::{collections::VecDeque, error::Error as _, sync::Arc, time::Duration};

use bytes::Bytes;
use http::StatusCode;
use nuncio_net::{CheckedUrl, Errand, Purpose, Timeouts};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{
    Push,
    lanes::Conduct,
    notice::{Notice, legacy_body},
    secrets::Secrets,
};
use crate::{
    clock::Clock,
    log::{Entry, Folded, Seq},
    store::{self, Delivery, Limit, Progress, Store},
};

/// What URLs of webhooks are for, and on whose word.
pub(super) const ERRAND: Errand = Errand::caller(Purpose::Webhook);

/// How much of a log is read at once.
const PAGE: Limit = Limit { entries: 32, bytes: 256 << 10 };

/// How much of an answer is read, and for how long, so that the connection can be used again.
const ANSWER_BYTES: usize = 64 << 10;
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// The longest text in a dead letter, in bytes.
const MAX_ERROR_BYTES: usize = 512;

/// How long a receiver may still take when everything stops.
pub(super) const LAST_CALL: Duration = Duration::from_secs(2);

/// How long to wait before a store that was not available is tried again, first and at most.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LAST_RETRY: Duration = Duration::from_secs(1);

/// Sends the events of one webhook.
pub(super) struct Courier {
    pub(super) store: Arc<dyn Store>,
    pub(super) push: Push,
    pub(super) clock: Clock,
    pub(super) stop: CancellationToken,
    pub(super) delivery: Delivery,
    /// When somebody else may take the webhook.
    pub(super) until: Instant,
    /// Entries from the event to be sent on.
    pub(super) page: VecDeque<Entry>,
    /// The task as of some earlier event, for receivers of 0.3.
    pub(super) folded: Option<Folded>,
}

/// How the sending went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    /// How the host behaved the last time.
    pub(super) conduct: Conduct,
    /// When an event is to be tried again.
    pub(super) again_after: Option<Duration>,
}

/// How one attempt went.
enum Attempt {
    Taken,
    /// It may go better another time.
    Failed(String),
    /// It never will.
    Hopeless(String),
    /// There was none: everything stops, or the event cannot be read now.
    Untried,
}

impl Courier {
    /// Sends what there is.
    pub(super) async fn run(mut self, has_waited: bool) -> Report {
        let mut report = Report { conduct: Conduct::Unknown, again_after: None };
        // A webhook may have been removed while it waited, and must not be called then.
        if has_waited && !self.is_still_there().await {
            return report;
        }
        let opened = Secrets::open(&self.push.key, &self.delivery.webhook);
        let url = self.push.client.guard().check_url(&self.delivery.webhook.url, ERRAND);
        loop {
            let attempt = match (&opened, &url) {
                (Ok(secrets), Ok(url)) => self.attempt(secrets, url, &mut report.conduct).await,
                (Err(error), _) => Attempt::Hopeless(error.to_string()),
                (_, Err(refused)) => Attempt::Failed(refused.to_string()),
            };
            match attempt {
                Attempt::Taken if self.take_next().await => continue,
                Attempt::Taken => {}
                Attempt::Untried => {
                    self.settle(Progress::Released).await;
                }
                Attempt::Failed(error) => report.again_after = self.fail(error).await,
                Attempt::Hopeless(error) => self.give_up(error).await,
            }
            return report;
        }
    }

    async fn is_still_there(&self) -> bool {
        let webhook = &self.delivery.webhook;
        let found = self.store.webhooks(webhook.task).await;
        found.is_ok_and(|webhooks| {
            webhooks.iter().any(|found| {
                found.reference == webhook.reference
                    && found.url == webhook.url
                    && found.secrets == webhook.secrets
            })
        })
    }

    async fn attempt(
        &mut self,
        secrets: &Secrets,
        url: &CheckedUrl,
        conduct: &mut Conduct,
    ) -> Attempt {
        if self.stop.is_cancelled() {
            return Attempt::Untried;
        }
        let body = match self.body().await {
            Ok(Some(body)) => body,
            Ok(None) => return Attempt::Hopeless("the event is no longer kept".to_owned()),
            Err(error @ store::Error::Spoilt(_)) => return Attempt::Hopeless(error.to_string()),
            Err(error) => {
                tracing::warn!(%error, "an event for a webhook could not be read");
                return Attempt::Untried;
            }
        };
        let notice = Notice {
            webhook: &self.delivery.webhook,
            secrets,
            seq: self.delivery.seq,
            body,
            now: self.clock.now(),
        };
        let Some(request) = notice.request(url) else {
            return Attempt::Hopeless("the secrets of the webhook are spoilt".to_owned());
        };
        let limit = self.push.timeout;
        let request =
            request.timeouts(Timeouts::default().first_byte(limit).idle(limit).whole(limit));
        let stopping = async {
            self.stop.cancelled().await;
            sleep(LAST_CALL).await;
        };
        let answer = tokio::select! {
            answer = self.push.client.send(request) => answer,
            () = stopping => return Attempt::Untried,
        };
        match answer {
            Ok(answer) => {
                *conduct = Conduct::Answered;
                let status = answer.status();
                // Whether it can be read makes no difference: the status has said it all.
                timeout(ANSWER_LIMIT, answer.collect(ANSWER_BYTES)).await.ok();
                judge(status)
            }
            Err(error) => {
                *conduct = Conduct::Silent;
                Attempt::Failed(chain(&error))
            }
        }
    }

    /// Goes on to the next event, if there is one and time for it.
    async fn take_next(&mut self) -> bool {
        // Looked for before, so that it is known whether the webhook stays taken.
        let next = self.delivery.seq.next();
        let is_known =
            self.delivery.again.is_none() && matches!(self.entry(next).await, Ok(Some(_)));
        if !self.settle(Progress::Sent).await || self.delivery.again.is_some() {
            return false;
        }
        self.delivery.webhook.sent = self.delivery.seq;
        self.delivery.seq = next;
        self.delivery.attempts = 0;
        if !is_known {
            // An event that came between the look and the end left the webhook taken.
            if matches!(self.entry(next).await, Ok(Some(_)))
                && self.settle(Progress::Released).await
            {
                self.push.wake();
            }
            return false;
        }
        if self.stop.is_cancelled() || Instant::now() + self.push.timeout > self.until {
            self.settle(Progress::Released).await;
            self.push.wake();
            return false;
        }
        true
    }

    /// Lets the event be tried again, or gives it up.
    async fn fail(&mut self, error: String) -> Option<Duration> {
        let failed = self.delivery.attempts.saturating_add(1);
        match self.push.schedule.pause(failed) {
            // A dead letter is sent again once for each time somebody asks for it.
            Some(after) if self.delivery.again.is_none() => {
                tracing::debug!(
                    task = %self.delivery.webhook.task_id, seq = %self.delivery.seq, failed, error,
                    "a webhook did not take an event"
                );
                let error = shorten(error);
                self.settle(Progress::Retry { after, error }).await.then_some(after)
            }
            _ => {
                self.give_up(error).await;
                None
            }
        }
    }

    async fn give_up(&mut self, error: String) {
        tracing::warn!(
            task = %self.delivery.webhook.task_id, webhook = %self.delivery.webhook.id,
            seq = %self.delivery.seq, error, "an event for a webhook was given up"
        );
        if self.settle(Progress::Dead { error: shorten(error) }).await {
            self.push.wake();
        }
    }

    /// Writes down how it went. `false` if the webhook is no longer ours.
    async fn settle(&self, progress: Progress) -> bool {
        let mut delay = FIRST_RETRY;
        loop {
            match self.store.settle(&self.delivery, progress.clone()).await {
                Ok(settled) => return settled,
                Err(error) if error.is_temporary() && Instant::now() + delay < self.until => {
                    sleep(delay).await;
                    delay = (delay * 2).min(LAST_RETRY);
                }
                Err(error) => {
                    // The event will be sent once more, with the same identifier.
                    tracing::warn!(%error, "how a webhook fared could not be written down");
                    return false;
                }
            }
        }
    }

    /// Returns what is sent; `None` if the log no longer has it.
    async fn body(&mut self) -> Result<Option<Bytes>, store::Error> {
        let seq = self.delivery.seq;
        if self.delivery.webhook.version.is_legacy() {
            return self.legacy_body(seq).await;
        }
        let entry = self.entry(seq).await?;
        Ok(entry.map(|entry| entry.record.event.json().clone()))
    }

    /// Receivers of 0.3 expect the whole task (compatibility digest §4).
    async fn legacy_body(&mut self, seq: Seq) -> Result<Option<Bytes>, store::Error> {
        let mut folded = match self.folded.take() {
            Some(folded) if folded.seq <= seq => folded,
            _ => match self.entry(Seq(1)).await? {
                Some(first) => Folded::from_log(None, &[first])?,
                None => return Ok(None),
            },
        };
        while folded.seq < seq {
            match self.entry(folded.seq.next()).await? {
                Some(entry) => folded.apply(&entry.record)?,
                None => return Ok(None),
            }
        }
        let body = legacy_body(&folded.task);
        self.folded = Some(folded);
        Ok(Some(body))
    }

    /// Reads an entry of the log, and those behind it for later.
    async fn entry(&mut self, seq: Seq) -> Result<Option<Entry>, store::Error> {
        let is_here = self.page.front().is_some_and(|first| first.seq <= seq)
            && self.page.back().is_some_and(|last| last.seq >= seq);
        if !is_here {
            let before = Seq(seq.0.saturating_sub(1));
            let tail = self.store.tail(self.delivery.webhook.task, before, PAGE).await?;
            self.page = tail.entries.into();
        }
        while self.page.front().is_some_and(|first| first.seq < seq) {
            self.page.pop_front();
        }
        Ok(self.page.front().filter(|first| first.seq == seq).cloned())
    }
}

/// Any 2xx is a receipt. A redirect is none: it could lead anywhere, with the secrets.
fn judge(status: StatusCode) -> Attempt {
    match status {
        status if status.is_success() => Attempt::Taken,
        StatusCode::GONE => Attempt::Hopeless("the receiver answered 410 Gone".to_owned()),
        status if status.is_redirection() => Attempt::Failed(format!(
            "the receiver answered {status}; redirects are not followed, register the new URL"
        )),
        status => Attempt::Failed(format!("the receiver answered {status}")),
    }
}

/// Says what went wrong, and what was behind it. The client names no more than the host.
fn chain(error: &nuncio_net::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        source = error.source();
    }
    text
}

fn shorten(mut text: String) -> String {
    let mut end = text.len().min(MAX_ERROR_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}
