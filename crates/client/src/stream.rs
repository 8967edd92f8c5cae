//! Streams that go on when a connection does not.
//!
//! A stream is at its end when its last event says so. One that ends earlier was cut, and is
//! resumed: by `Last-Event-ID` where the peer numbers its events, otherwise by subscribing
//! again, or asking for the task if it has ended, and telling the difference to what was seen.
//!
//! Who subscribes again in 1.0 is told the task first. In 0.3 nobody promises that, so the task
//! is asked for until it has ended; so it is wherever a subscription does not begin with it, or
//! adds a piece to an artifact: some peers tell a piece in the task and once more behind it.

mod breaks;
mod seen;

use std::{
    collections::VecDeque,
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;
use futures_util::stream::unfold;
use nuncio_protocol::{
    ids::{ContextId, TaskId},
    json::Shared,
    operation::{GetTaskRequest, Request, SubscribeToTaskRequest},
    service::{Answered, CallContext, Event},
    task::{RESUME_GAP, StreamResponse, Task},
};
use tokio::time::{Instant, sleep, timeout};

use self::{
    breaks::{is_break, is_gone, is_older, is_passing},
    seen::{Seen, Standing},
};
use crate::{
    error::Error,
    remote::Remote,
    retry,
    transport::{Frame, Frames},
};

/// How long a peer may take to close a stream of which the last event has come. It is closed
/// by us then; waiting keeps the connection for the next call.
const LAST_WORD: Duration = Duration::from_secs(1);

/// A stream of events that is resumed when it breaks off. Dropping it closes the exchange.
#[must_use]
pub struct Followed(Pin<Box<dyn Stream<Item = Result<Event, Error>> + Send>>);

impl Followed {
    pub(crate) async fn open(
        remote: Remote,
        ctx: CallContext,
        request: Request,
    ) -> Result<Self, Error> {
        // A message is needed again only if it may be sent again before any event has come.
        let operation = request.operation();
        let again =
            remote.options().retries.may_repeat(operation).then(|| Box::new(request.clone()));
        let task = match &request {
            Request::SubscribeToTask(request) => Some(request.id.clone()),
            _ => None,
        };
        let frames = remote.open_stream(&ctx, request, None).await?;
        Ok(Self::of(Follower {
            again,
            is_resumable: frames.is_resumable,
            frames: Some(frames),
            task,
            ..Follower::new(remote, ctx)
        }))
    }

    /// Follows a task of which somebody knows how it once was.
    pub(crate) fn again(
        remote: Remote,
        ctx: CallContext,
        known: &Task,
        last_event: Option<u64>,
        asks: bool,
    ) -> Self {
        let mut follower = Follower::new(remote, ctx);
        follower.is_blind |= asks;
        follower.is_resumable = last_event.is_some();
        follower.last_id = last_event.map(|seq| seq.to_string().into_bytes());
        follower.task = Some(known.id.clone());
        follower.context.clone_from(&known.context_id);
        follower.seen.add(&StreamResponse::Task(known.clone()));
        Self::of(follower)
    }

    fn of(follower: Follower) -> Self {
        Self(Box::pin(unfold(Box::new(follower), |mut follower| async move {
            let event = follower.next().await?;
            Some((event, follower))
        })))
    }
}

impl Stream for Followed {
    type Item = Result<Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Followed(..)")
    }
}

struct Follower {
    remote: Remote,
    ctx: CallContext,
    /// The request, if it may be made again.
    again: Option<Box<Request>>,
    /// `None` while the stream is broken.
    frames: Option<Frames>,
    /// Events that were missed.
    ready: VecDeque<Event>,
    task: Option<TaskId>,
    context: Option<ContextId>,
    standing: Standing,
    /// Kept only if the peer does not number its events.
    seen: Seen,
    is_resumable: bool,
    /// Whether who subscribes again is not told what was missed.
    is_blind: bool,
    /// Kept apart from the piece of the stream that it came in, which is large.
    last_id: Option<Vec<u8>>,
    round: Round,
    /// Why the stream broke off last.
    broken: Option<Error>,
    /// How long the peer wants us to wait.
    hint: Option<Duration>,
    /// Resumes that brought nothing new.
    in_vain: u32,
    /// How often the task was asked for since there was news of it.
    asked: u32,
    /// Since when there is no news of the task, if it is asked for.
    news: Instant,
    has_ended: bool,
}

/// Which stream it is that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    /// The one that was asked for.
    First,
    /// One that was resumed, and nothing has come of it yet.
    Fresh,
    /// One that was resumed.
    Later,
}

impl Follower {
    fn new(remote: Remote, ctx: CallContext) -> Self {
        Self {
            is_blind: is_older(remote.interface().form),
            remote,
            ctx,
            again: None,
            is_resumable: false,
            frames: None,
            ready: VecDeque::new(),
            task: None,
            context: None,
            standing: Standing::Open,
            seen: Seen::default(),
            last_id: None,
            round: Round::First,
            broken: None,
            hint: None,
            in_vain: 0,
            asked: 0,
            news: Instant::now(),
            has_ended: false,
        }
    }

    async fn next(&mut self) -> Option<Result<Event, Error>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.has_ended {
                return None;
            }
            let Some(frames) = &mut self.frames else {
                // Rare and large: not every stream is to carry it.
                if let Err(error) = Box::pin(self.resume()).await {
                    self.stop();
                    return Some(Err(error));
                }
                continue;
            };
            if self.standing == Standing::Over {
                self.has_ended = true;
                // Whatever comes behind the last event is nothing to anybody.
                let _ = timeout(LAST_WORD, frames.next()).await;
                self.frames = None;
                return None;
            }
            match frames.next().await {
                Some(Ok(frame)) => match self.take(frame) {
                    Ok(Some(event)) => return Some(Ok(event)),
                    Ok(None) => {}
                    Err(error) => {
                        self.stop();
                        return Some(Err(error));
                    }
                },
                Some(Err(error)) if !is_break(&error) => {
                    self.stop();
                    return Some(Err(error));
                }
                Some(Err(error)) => self.break_off(error),
                None => {
                    // A server that stops says when to come back; others end where they may.
                    if self.standing == Standing::Interrupted && frames.parting().is_none() {
                        self.stop();
                        return None;
                    }
                    // What came last was no frame.
                    let frame = frames.number() - 1;
                    self.break_off(Error::Cut { frame });
                }
            }
        }
    }

    fn stop(&mut self) {
        self.has_ended = true;
        self.frames = None;
    }

    /// Leaves a subscription of which nobody knows what is missing, or there twice.
    fn go_blind(&mut self) {
        self.is_blind = true;
        let frame = self.frames.as_ref().map_or(1, |frames| frames.number() - 1);
        self.break_off(Error::Cut { frame });
    }

    fn break_off(&mut self, error: Error) {
        self.hint = self.frames.take().and_then(|frames| frames.retry());
        self.broken = Some(error);
        // Whatever there was of the stream, now it begins to be silent.
        self.news = Instant::now();
    }

    /// Takes in an event; `None` if the reader has seen it, or gets it by other events.
    fn take(&mut self, frame: Frame) -> Result<Option<Event>, Error> {
        let Frame { id, response } = frame;
        let value = response.value().map_err(|error| Error::StreamMalformed {
            frame: self.frames.as_ref().map_or(1, Frames::number) - 1,
            cause: error.to_string(),
        })?;
        if self.round == Round::Fresh {
            self.round = Round::Later;
            if !self.is_resumable {
                self.remember(id.as_deref());
                match value {
                    StreamResponse::Task(task) => self.catch_up(task),
                    _ => self.go_blind(),
                }
                return Ok(None);
            }
            if let StreamResponse::Task(task) = value {
                let is_gap =
                    task.metadata.as_ref().is_some_and(|data| data.get(RESUME_GAP).is_some());
                if id.as_deref() == self.last_id.as_deref() && !is_gap {
                    return Ok(None);
                }
            }
        }
        if self.round == Round::Later
            && !self.is_resumable
            && matches!(value, StreamResponse::ArtifactUpdate(update) if update.append)
        {
            self.go_blind();
            return Ok(None);
        }
        self.learn(value);
        // Who promises numbers and gives none is not believed.
        self.is_resumable &= id.is_some();
        if !self.is_resumable {
            self.seen.add(value);
        }
        let seq = id
            .as_deref()
            .filter(|_| self.is_resumable)
            .and_then(|id| std::str::from_utf8(id).ok()?.parse().ok());
        self.remember(id.as_deref());
        self.in_vain = 0;
        Ok(Some(Event { seq, response }))
    }

    /// Remembers behind which event to come back, if it has an id.
    fn remember(&mut self, id: Option<&[u8]>) {
        if let Some(id) = id {
            let kept = self.last_id.get_or_insert_default();
            kept.clear();
            kept.extend_from_slice(id);
        }
    }

    /// Remembers what is needed to come back.
    fn learn(&mut self, event: &StreamResponse) {
        let (task, context) = match event {
            StreamResponse::Task(task) => (Some(&task.id), task.context_id.as_ref()),
            StreamResponse::StatusUpdate(update) => {
                (Some(&update.task_id), Some(&update.context_id))
            }
            StreamResponse::ArtifactUpdate(update) => {
                (Some(&update.task_id), Some(&update.context_id))
            }
            StreamResponse::Message(_) => (None, None),
        };
        if self.task.is_none() {
            self.task = task.cloned();
        }
        if self.context.is_none() {
            self.context = context.cloned();
        }
        if let Some(standing) = Standing::after(event) {
            self.standing = standing;
        }
    }

    /// Makes events of what a task has become while nobody looked.
    fn catch_up(&mut self, task: &Task) {
        for event in self.seen.missed(task, self.context.as_ref()) {
            self.learn(&event);
            self.seen.add(&event);
            (self.in_vain, self.asked, self.news) = (0, 0, Instant::now());
            self.ready.push_back(Event { seq: None, response: Shared::new(event) });
        }
        self.standing = Standing::of(task.status.state);
    }

    /// Tries once to open the stream again. An error is final.
    async fn resume(&mut self) -> Result<(), Error> {
        let last = self.broken.take().unwrap_or(Error::Cut { frame: 0 });
        let limits = self.remote.options().resumes;
        if self.in_vain >= limits.in_vain {
            if limits.in_vain == 0 {
                return Err(last);
            }
            return Err(Error::Interrupted { resumes: self.in_vain, last: Box::new(last) });
        }
        if self.is_blind && !self.is_resumable && self.task.is_some() {
            return self.ask_again(last).await;
        }
        let request = match (&self.task, &self.again) {
            (Some(id), _) => {
                Request::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id: id.clone() })
            }
            (None, Some(request)) => Request::clone(request),
            // It may or may not have begun a task: to send it again might begin a second.
            (None, None) => return Err(last),
        };
        self.wait().await?;
        self.in_vain += 1;
        match self.remote.open_stream(&self.ctx, request, self.last_id.as_deref()).await {
            Ok(frames) => {
                self.is_resumable &= frames.is_resumable;
                self.frames = Some(frames);
                if self.task.is_some() {
                    self.round = Round::Fresh;
                }
                Ok(())
            }
            Err(error) if is_gone(&error) && self.task.is_some() => self.ask(last).await,
            Err(error) if is_passing(&error) => {
                self.hint = error.retry_after();
                self.broken = Some(error);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Asks for the task, of which a subscription would not tell what was missed.
    async fn ask_again(&mut self, last: Error) -> Result<(), Error> {
        let remote = self.remote.options();
        let (clocks, limits) = (remote.clocks, remote.resumes);
        // As long as a stream that is silent would be resumed.
        if self.news.elapsed() >= clocks.idle * limits.in_vain {
            return Err(Error::Interrupted { resumes: self.asked, last: Box::new(last) });
        }
        self.wait().await?;
        self.in_vain += 1;
        self.ask(last).await
    }

    /// Asks for the task, which cannot be subscribed to.
    async fn ask(&mut self, last: Error) -> Result<(), Error> {
        let Some(id) = self.task.clone() else { return Err(last) };
        let request = GetTaskRequest { tenant: None, id, history_length: Some(0) };
        let response = match self.remote.call(self.ctx.clone(), Request::GetTask(request)).await {
            Ok(response) => response,
            Err(error) if is_passing(&error) => {
                self.broken = Some(error);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let Answered::Task(task) = response else { return Err(last) };
        match task.value() {
            Ok(task) => self.catch_up(task),
            Err(_) => return Err(last),
        }
        self.asked += 1;
        if self.is_blind {
            // Whoever answers is there, and a task may take its time.
            self.in_vain = 0;
        }
        match self.standing {
            Standing::Over | Standing::Interrupted => self.has_ended = true,
            // The peer says that it cannot be followed, and that it goes on: ask again.
            Standing::Open => self.broken = Some(last),
        }
        Ok(())
    }

    async fn wait(&mut self) -> Result<(), Error> {
        let limits = self.remote.options().resumes;
        let pause = match (self.hint.take(), self.in_vain.max(self.asked)) {
            (Some(hint), _) => hint,
            (None, 0) => Duration::ZERO,
            (None, tries) => retry::pause(limits.pause, tries, retry::random()),
        };
        let pause = pause.min(limits.longest);
        let deadline = self.ctx.deadline.map(Instant::from_std);
        if deadline.is_some_and(|end| Instant::now() + pause >= end) {
            return Err(Error::DeadlineExceeded);
        }
        sleep(pause).await;
        Ok(())
    }
}
