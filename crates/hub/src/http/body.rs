//! Bodies of requests, bounded and checked.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::{StatusCode, header::CONTENT_TYPE};
use nuncio_net::listen::body::Guarded;
use serde::de::DeserializeOwned;

use super::problem::Problem;
use crate::hub::Hub;

/// A JSON body. Members that are not known are refused where the type says so, and what does
/// not fit is named by its path.
pub(crate) struct Json<T>(pub(crate) T);

/// A JSON body that may be left out.
pub(crate) struct Optional<T>(pub(crate) T);

/// A body as it came.
pub(crate) struct Raw(pub(crate) Bytes);

impl FromRequest<Hub> for Raw {
    type Rejection = Problem;

    async fn from_request(request: Request, hub: &Hub) -> Result<Self, Problem> {
        let body = Guarded::new(request.into_body(), hub.settings.bodies);
        Ok(Self(body.collect().await?))
    }
}

impl<T: DeserializeOwned> FromRequest<Hub> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, hub: &Hub) -> Result<Self, Problem> {
        // A form of a foreign page cannot send this type without being asked about first.
        if !is_json(&request) {
            return Err(not_json());
        }
        let Raw(body) = Raw::from_request(request, hub).await?;
        read(&body).map(Self)
    }
}

impl<T: DeserializeOwned + Default> FromRequest<Hub> for Optional<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, hub: &Hub) -> Result<Self, Problem> {
        if !request.headers().contains_key(CONTENT_TYPE) {
            let Raw(body) = Raw::from_request(request, hub).await?;
            return if body.is_empty() { Ok(Self(T::default())) } else { Err(not_json()) };
        }
        Json::from_request(request, hub).await.map(|Json(body)| Self(body))
    }
}

fn not_json() -> Problem {
    let detail = "send `Content-Type: application/json`";
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "NOT_JSON", detail)
}

fn is_json(request: &Request) -> bool {
    let value = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.and_then(|value| value.split(';').next()).map(str::trim);
    essence.is_some_and(|essence| {
        essence.eq_ignore_ascii_case("application/json") || essence.ends_with("+json")
    })
}

/// Reads JSON, and says where it does not fit.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let field = error.path().to_string();
        let detail = error.inner().to_string();
        if field == "." {
            Problem { field: None, ..Problem::invalid("", detail) }
        } else {
            Problem::invalid(field, detail)
        }
    })?;
    reader.end().map_err(|error| Problem::invalid("", error.to_string()))?;
    Ok(value)
}
