//! Puts an endpoint together.

use std::{collections::BTreeSet, fmt, sync::Arc};

use nuncio_auth::Gatekeeper;
use nuncio_net::listen::body::BodyLimits;
use nuncio_protocol::{
    card::{AgentCard, sign::KeySet},
    error::ErrorTable,
    json,
    service::{A2aService, CallContext},
    time::Timestamp,
};

use super::{
    Endpoint, Tenants,
    answer::{Inner, Known},
};
use crate::{
    capacity::Capacity,
    card::{CardReaders, CardStyle, Cards},
    dialects::{Dialects, Spoken},
    server::Error,
};

/// Finds the extensions that the agent of a call knows.
pub(super) type ExtensionsOf = dyn Fn(&CallContext) -> BTreeSet<String> + Send + Sync;

/// Options of an [`Endpoint`].
#[derive(Clone)]
#[must_use = "nothing is answered until it is built"]
pub struct Builder {
    name: String,
    service: Arc<dyn A2aService>,
    capacity: Capacity,
    url: Option<String>,
    card: Option<(AgentCard, Timestamp)>,
    keys: Option<KeySet>,
    card_style: CardStyle,
    card_readers: CardReaders,
    extensions: Option<Arc<ExtensionsOf>>,
    dialects: Dialects,
    tenants: Tenants,
    gatekeeper: Option<Gatekeeper>,
    table: ErrorTable,
    body_limits: BodyLimits,
}

impl Builder {
    pub(super) fn new(name: String, service: Arc<dyn A2aService>, capacity: Capacity) -> Self {
        Self {
            name,
            service,
            capacity,
            url: None,
            card: None,
            keys: None,
            card_style: CardStyle::default(),
            card_readers: CardReaders::default(),
            extensions: None,
            dialects: Dialects::default(),
            tenants: Tenants::default(),
            gatekeeper: None,
            table: ErrorTable::default(),
            body_limits: BodyLimits::default(),
        }
    }

    /// Shows this card, which was last changed then: as it is, with its interfaces and its
    /// signatures, and in the forms of other versions. Without one there is no card to read.
    pub fn card(mut self, card: AgentCard, modified: Timestamp) -> Self {
        self.card = Some((card, modified));
        self
    }

    /// Shows the keys that the signatures on the card verify with.
    pub fn keys(mut self, keys: KeySet) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Chooses the card for readers who do not say which version they know.
    pub fn card_style(mut self, style: CardStyle) -> Self {
        self.card_style = style;
        self
    }

    /// Chooses who may read the card: everybody, unless this is called.
    pub fn card_readers(mut self, readers: CardReaders) -> Self {
        self.card_readers = readers;
        self
    }

    /// Knows this URL as its own, for cards that only a dialect has. Otherwise that of the
    /// first interface on the card is taken for it.
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// Asks this which extensions an agent knows, where many agents share the endpoint; the card
    /// tells otherwise. Callers are told those that they wish for, too, once a call of theirs has
    /// been taken.
    pub fn extensions(
        mut self,
        known: impl Fn(&CallContext) -> BTreeSet<String> + Send + Sync + 'static,
    ) -> Self {
        self.extensions = Some(Arc::new(known));
        self
    }

    /// Chooses what is spoken beside A2A 1.0: 0.3, unless this is called.
    pub fn dialects(mut self, dialects: impl Into<Dialects>) -> Self {
        self.dialects = dialects.into();
        self
    }

    /// Chooses which tenants are served: any, unless this is called.
    pub fn tenants(mut self, tenants: Tenants) -> Self {
        self.tenants = tenants;
        self
    }

    /// Lets callers in whom the listener does not know. Without, it has to say who calls.
    pub fn gatekeeper(mut self, gatekeeper: Gatekeeper) -> Self {
        self.gatekeeper = Some(gatekeeper);
        self
    }

    /// Uses the error codes of an earlier edition of the specification.
    pub fn error_table(mut self, table: ErrorTable) -> Self {
        self.table = table;
        self
    }

    /// Changes how large and how slow the bodies of requests may be.
    pub fn body_limits(mut self, limits: BodyLimits) -> Self {
        self.body_limits = limits;
        self
    }

    /// Makes the endpoint. Fails if the card cannot be said in a version that is spoken.
    pub fn build(self) -> Result<Endpoint, Error> {
        let cards = self.cards()?;
        let card = self.card.map(|(card, _)| card).unwrap_or_default();
        let on_card = || card.capabilities.extensions.iter().map(|known| known.uri.clone());
        let extensions = match self.extensions {
            Some(lookup) => Known::Lookup(lookup),
            None => Known::Card(on_card().collect()),
        };
        let inner = Inner {
            service: self.service,
            cards,
            card_readers: self.card_readers,
            extensions,
            offered: self.dialects.offered(),
            dialects: Spoken::new(self.dialects, &self.name, &card),
            name: self.name,
            tenants: self.tenants,
            gatekeeper: self.gatekeeper,
            table: self.table,
            body_limits: self.body_limits,
            capacity: self.capacity,
        };
        Ok(Endpoint { inner: Arc::new(inner) })
    }

    fn cards(&self) -> Result<Option<Cards>, Error> {
        let Some((card, modified)) = &self.card else { return Ok(None) };
        let own = card.supported_interfaces.first().map(|interface| interface.url.as_str());
        let url = self.url.as_deref().or(own).unwrap_or_default().trim_end_matches('/');
        let (shown, legacy) = (self.dialects.card(card), self.dialects.offered().legacy);
        let cards = Cards::new(card, &shown, legacy, self.card_style, *modified)
            .map_err(|error| Error::Settings(format!("the card cannot be shown: {error}")))?
            .with_keys(self.keys.as_ref().map(json::to_string))
            .with_others(self.dialects.documents(&self.name, card, url))
            .for_readers(self.card_readers);
        Ok(Some(cards))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("tenants", &self.tenants)
            .field("gatekeeper", &self.gatekeeper)
            .finish_non_exhaustive()
    }
}
