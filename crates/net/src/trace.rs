//! Because of what something is asked of others (W3C Trace Context).
//!
//! A request that makes us fetch a card or a key is the cause of that, and what is fetched is
//! asked for in its trace: whoever wraps the work in [`Cause::of`] need not hand it down by hand.

use std::cell::RefCell;

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header with the place in the trace.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// The header with what systems on the way have added.
pub const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

const HEX: [u8; 16] = *b"0123456789abcdef";

tokio::task_local! {
    static CAUSE: Cause;
}

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { bytes: [0; POOL_BYTES], used: POOL_BYTES }) };
}

/// What a trace and its first span are called.
const NAME_BYTES: usize = 24;

/// To ask for a kilobyte of randomness costs little more than to ask for a name.
const POOL_BYTES: usize = 42 * NAME_BYTES;

/// Randomness for names, asked for in advance.
struct Pool {
    bytes: [u8; POOL_BYTES],
    used: usize,
}

impl Pool {
    fn take(&mut self) -> [u8; NAME_BYTES] {
        if self.used == POOL_BYTES {
            // Without randomness there is nothing to tell traces apart by, and nothing else is
            // lost.
            let _ = aws_lc_rs::rand::fill(&mut self.bytes);
            self.used = 0;
        }
        let mut name = [0; NAME_BYTES];
        name.copy_from_slice(&self.bytes[self.used..][..NAME_BYTES]);
        self.used += NAME_BYTES;
        name
    }
}

/// The place in a trace of whatever makes us ask others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What the header `traceparent` says.
    pub parent: HeaderValue,
    /// What the header `tracestate` says, if it is there.
    pub state: Option<HeaderValue>,
}

impl Cause {
    /// Does some work, which is then the cause of all requests that it sends and that name no
    /// other. What it spawns is not part of it, unless it is [`kept`].
    pub async fn of<F: Future>(self, work: F) -> F::Output {
        CAUSE.scope(self, work).await
    }
}

/// Returns some work that has the same cause wherever it is done.
pub fn kept<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let cause = CAUSE.try_with(Clone::clone).ok();
    async move {
        match cause {
            Some(cause) => cause.of(work).await,
            None => work.await,
        }
    }
}

/// Begins a trace that nobody has asked to be kept: a `traceparent` of its own.
pub fn root() -> String {
    let mut random = POOL.with_borrow_mut(Pool::take);
    // An id of zeros is none.
    random[15] |= 1;
    random[23] |= 1;
    let mut parent = String::with_capacity(55);
    parent.push_str("00-");
    for (index, byte) in random.into_iter().enumerate() {
        if index == 16 {
            parent.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            parent.push(char::from(HEX[usize::from(digit)]));
        }
    }
    parent.push_str("-00");
    parent
}

/// Says in the headers of a request why it is sent, if they do not say so.
pub(crate) fn inject(headers: &mut HeaderMap, begins: bool) {
    if headers.contains_key(TRACEPARENT) {
        return;
    }
    let known = CAUSE.try_with(|cause| {
        headers.insert(TRACEPARENT, cause.parent.clone());
        if let Some(state) = &cause.state {
            headers.insert(TRACESTATE, state.clone());
        }
    });
    if known.is_err()
        && begins
        && let Ok(root) = HeaderValue::try_from(root())
    {
        headers.insert(TRACEPARENT, root);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(begins: bool) -> HeaderMap {
        let mut headers = HeaderMap::new();
        inject(&mut headers, begins);
        headers
    }

    #[tokio::test]
    async fn a_request_says_why_it_is_sent() {
        assert!(sent(false).is_empty());
        let (one, other) = (sent(true), sent(true));
        assert_ne!(one[TRACEPARENT], other[TRACEPARENT], "each begins a trace");
        let parent = HeaderValue::from_static("00-1-2-01");
        let state = Some(HeaderValue::from_static("a=b"));
        let cause = Cause { parent: parent.clone(), state };
        cause
            .of(async {
                for begins in [false, true] {
                    let headers = sent(begins);
                    assert_eq!(headers[TRACEPARENT], parent);
                    assert_eq!(headers[TRACESTATE], "a=b");
                }
                let mut own = HeaderMap::new();
                own.insert(TRACEPARENT, HeaderValue::from_static("own"));
                inject(&mut own, true);
                assert_eq!(own[TRACEPARENT], "own");
                assert_eq!(own.len(), 1);
                let lost = tokio::spawn(async { sent(false) }).await.unwrap();
                assert!(lost.is_empty());
                let kept = tokio::spawn(kept(async { sent(false) })).await.unwrap();
                assert_eq!(kept[TRACEPARENT], parent);
            })
            .await;
    }
}
