//! What stands behind the question mark, checked.

use axum::extract::FromRequestParts;
use http::request::Parts;
use serde::de::DeserializeOwned;

use super::problem::Problem;
use crate::hub::Hub;

/// The parameters of a request. What does not fit is refused like everything else.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Hub> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Parts, _: &Hub) -> Result<Self, Problem> {
        match axum::extract::Query::try_from_uri(&head.uri) {
            Ok(axum::extract::Query(query)) => Ok(Self(query)),
            Err(error) => Err(Problem { field: None, ..Problem::invalid("", error.body_text()) }),
        }
    }
}
