//! Refusals in molecule's shape.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use serde::Serialize;

use crate::{error::Error, http::problem::Problem};

/// A refusal: `{"error": "…"}` with the status that says the rest.
#[derive(Debug)]
pub(in crate::http::facade) struct Refused(pub(super) Problem);

#[derive(Serialize)]
struct Body<'a> {
    error: &'a str,
}

impl Refused {
    pub(in crate::http::facade) fn invalid(field: &str, detail: &str) -> Self {
        Self(Problem::invalid(field, detail))
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Self(problem) = self;
        let named;
        // Errors of the directory name the field themselves.
        let error = match problem.field.as_deref().filter(|field| !field.is_empty()) {
            Some(field) if !problem.detail.contains(field) => {
                named = format!("`{field}`: {}", problem.detail);
                &named
            }
            _ => &problem.detail,
        };
        let mut response = (problem.status, Json(Body { error })).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = problem.retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if let Some(challenge) = problem.challenge {
            headers.insert(WWW_AUTHENTICATE, *challenge);
        }
        response
    }
}
