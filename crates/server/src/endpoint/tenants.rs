//! Which tenants an endpoint serves.

use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::Tenant,
};

/// Which tenants an endpoint serves.
///
/// A request names its tenant in its field `tenant`, on HTTP in the path or the query as well.
/// Over gRPC the metadata `a2a-agent` or `x-a2a-agent` does so, too, since A2A 0.3 has no such
/// field; an endpoint that serves [any](Self::Any) does not look at it. Whatever says so more
/// than once must say the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tenants {
    /// Whichever a request names, and those that name none.
    #[default]
    Any,
    /// These, and a request has to name one.
    Only(Vec<Tenant>),
    /// Whichever a request names, but it has to name one: an agent behind an endpoint that
    /// many share.
    Named,
    /// This one, for every request. A request that names another is refused.
    Fixed(Tenant),
}

impl Tenants {
    /// Returns the tenant of every request, if that is known before one is read.
    pub(super) fn fixed(&self) -> Option<&Tenant> {
        match self {
            Self::Fixed(tenant) => Some(tenant),
            _ => None,
        }
    }

    /// Returns the tenant that is called, by the name in a request and the one beside it.
    pub(super) fn find(
        &self,
        beside: Option<Tenant>,
        asked: Option<&Tenant>,
    ) -> Result<Option<Tenant>, Error> {
        if let (Some(beside), Some(asked)) = (&beside, asked)
            && beside != asked
        {
            let text = match self {
                Self::Fixed(_) => format!("only `{beside}` is served here, not `{asked}`"),
                _ => format!("the metadata says `{beside}`, the request `{asked}`"),
            };
            return Err(refused(text));
        }
        let found = asked.cloned().or(beside);
        match (self, &found) {
            (Self::Any, _) | (Self::Named, Some(_)) => Ok(found),
            (Self::Fixed(own), Some(tenant)) if own == tenant => Ok(found),
            (Self::Fixed(own), None) => Ok(Some(own.clone())),
            (Self::Fixed(own), Some(tenant)) => {
                Err(refused(format!("only `{own}` is served here, not `{tenant}`")))
            }
            (Self::Only(served), Some(tenant)) if served.contains(tenant) => Ok(found),
            (Self::Only(_), Some(tenant)) => {
                Err(refused(format!("no tenant `{tenant}` is served here; the card lists them")))
            }
            (Self::Only(_), None) => Err(refused("must name one of the tenants on the card")),
            (Self::Named, None) => Err(refused(
                "must name the agent that is called; A2A 0.3 has no such field, so name it in \
                 the gRPC metadata `a2a-agent`",
            )),
        }
    }
}

fn refused(text: impl Into<String>) -> Error {
    let text = text.into();
    Error::new(ErrorKind::InvalidParams, format!("tenant: {text}")).with_violation("tenant", text)
}
