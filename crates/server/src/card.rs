//! The cards of an agent, as they are shown.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, VARY,
    },
};
use nuncio_protocol::{
    card::{AgentCard, AgentInterface, write_hybrid},
    dialect::Legacy,
    error::Error,
    json,
    time::Timestamp,
    version::Version,
    wire::card_document,
};

use crate::{body::Body, respond};

/// How long a card may be kept (P-25).
const CACHE: HeaderValue = HeaderValue::from_static("public, max-age=30");
/// The same for a card that is not for everybody: only its reader may keep it.
const PRIVATE_CACHE: HeaderValue = HeaderValue::from_static("private, max-age=30");

/// Where cards are found, below the URL of the agent.
pub(crate) const CARD: &str = "/.well-known/agent-card.json";
pub(crate) const OLD_CARD: &str = "/.well-known/agent.json";
pub(crate) const KEYS: &str = "/.well-known/jwks.json";

/// Whether a card for readers who name no version speaks of 0.3 too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CardStyle {
    /// Members of both versions, so that readers of either find theirs.
    #[default]
    Hybrid,
    /// Members of 1.0 alone, for readers that refuse what they do not know.
    Plain,
}

/// Who may read an agent's card, and the documents beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CardReaders {
    /// Whoever asks.
    #[default]
    Everybody,
    /// Callers who are let in. Others are refused, as with every other request.
    Admitted,
}

/// One agent's cards in every form, and the keys that signed them.
#[derive(Clone, Debug)]
pub(crate) struct Cards {
    v1: Document,
    /// For readers who name no version.
    unversioned: Document,
    /// At the path of 0.2.
    old: Document,
    keys: Option<Document>,
    /// At paths of their own.
    others: BTreeMap<String, Document>,
    modified: HeaderValue,
    cache: HeaderValue,
}

#[derive(Clone, Debug)]
struct Document {
    text: Bytes,
    tag: HeaderValue,
}

impl Cards {
    /// Shows a card, and in the form of a dialect the card that it wants to see.
    pub(crate) fn new(
        card: &AgentCard,
        shown: &AgentCard,
        legacy: Option<Legacy>,
        style: CardStyle,
        modified: Timestamp,
    ) -> Result<Self, Error> {
        let v1 = json::to_string(card);
        // A card with tenants has no interface of 0.3, nor does one whose author wants none.
        let speaks_v03 = card.supported_interfaces.iter().any(AgentInterface::speaks_v03);
        let legacy = legacy.filter(|legacy| *legacy != Legacy::V03 || speaks_v03);
        let (unversioned, old) = match legacy {
            None => (v1.clone(), v1.clone()),
            Some(Legacy::V03) => {
                let old = Legacy::V03.form().json_rpc(&card.name);
                let old = old.map(|form| card_document(&*form, card));
                let unversioned = match style {
                    CardStyle::Hybrid => write_hybrid(card)?,
                    CardStyle::Plain => v1.clone(),
                };
                (unversioned, old.unwrap_or_else(|| v1.clone()))
            }
            Some(other) => {
                let form = other.form().json_rpc(&card.name);
                let text = form.map_or_else(|| v1.clone(), |form| card_document(&*form, shown));
                (text.clone(), text)
            }
        };
        Ok(Self {
            v1: Document::new(v1),
            unversioned: Document::new(unversioned),
            old: Document::new(old),
            keys: None,
            others: BTreeMap::new(),
            modified: http_date(modified),
            cache: CACHE,
        })
    }

    /// Shows the keys that the signatures on the card verify with.
    pub(crate) fn with_keys(mut self, keys: Option<String>) -> Self {
        self.keys = keys.map(Document::new);
        self
    }

    /// Shows more documents, each at its path.
    pub(crate) fn with_others(mut self, others: Vec<(String, String)>) -> Self {
        self.others = others.into_iter().map(|(path, text)| (path, Document::new(text))).collect();
        self
    }

    /// Tells caches for whom everything is.
    pub(crate) fn for_readers(mut self, readers: CardReaders) -> Self {
        self.cache = match readers {
            CardReaders::Everybody => CACHE,
            CardReaders::Admitted => PRIVATE_CACHE,
        };
        self
    }

    /// Answers a request for a document, if the path is that of one. The version is what the
    /// request says, if it says any.
    pub(crate) fn find(
        &self,
        path: &str,
        version: Option<&str>,
        headers: &HeaderMap,
    ) -> Option<Response<Body>> {
        let document = match path {
            CARD => match version.and_then(Version::parse) {
                Some(Version::V1_0) => &self.v1,
                _ => &self.unversioned,
            },
            OLD_CARD => &self.old,
            KEYS => self.keys.as_ref()?,
            other => self.others.get(other)?,
        };
        Some(self.show(document, headers))
    }

    fn show(&self, document: &Document, headers: &HeaderMap) -> Response<Body> {
        let mut response = if self.is_known(document, headers) {
            respond::status(StatusCode::NOT_MODIFIED)
        } else {
            let mut response = Response::new(Body::whole(document.text.clone()));
            response.headers_mut().insert(CONTENT_TYPE, respond::JSON);
            response
        };
        let answer = response.headers_mut();
        answer.insert(ETAG, document.tag.clone());
        answer.insert(LAST_MODIFIED, self.modified.clone());
        answer.insert(CACHE_CONTROL, self.cache.clone());
        answer.insert(VARY, HeaderValue::from_static("A2A-Version"));
        response
    }

    /// Tells whether the reader has the document already (RFC 9110 §13.2.2).
    fn is_known(&self, document: &Document, headers: &HeaderMap) -> bool {
        let mut tags = headers.get_all(IF_NONE_MATCH).iter().peekable();
        if tags.peek().is_none() {
            return headers.get(IF_MODIFIED_SINCE) == Some(&self.modified);
        }
        let own = document.tag.as_bytes();
        tags.any(|tags| {
            tags.as_bytes()
                .split(|byte| *byte == b',')
                .map(<[u8]>::trim_ascii)
                .any(|tag| tag == b"*" || tag.strip_prefix(b"W/").unwrap_or(tag) == own)
        })
    }
}

/// Writes a moment as HTTP does, to the second (RFC 9110 §5.6.7).
fn http_date(moment: Timestamp) -> HeaderValue {
    let moment = jiff::Timestamp::from_second(moment.to_parts().0).unwrap_or_default();
    let text = moment.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    // A moment is plain text.
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("0"))
}

impl Document {
    fn new(text: String) -> Self {
        let hash = digest(&SHA256, text.as_bytes());
        let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(&hash.as_ref()[..16]));
        Self {
            text: Bytes::from(text),
            // Base64 in quotes is a fit value.
            tag: HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("\"\"")),
        }
    }
}
