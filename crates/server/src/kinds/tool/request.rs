//! An HTTP request as a tool.

use nuncio_protocol::{json::Object, message::Part};

use super::{About, Boxed, Call, Named, Tool};
use crate::kinds::http::{Body, Request, Sender, with_query};

/// What a model gives to a request without body.
const QUERY: &str = r#"{"type":"object","properties":{"query":{"type":"object","description":"Parameters of the query, each a text.","additionalProperties":{"type":"string"}}}}"#;

/// What a model gives to a request with one.
const BODY: &str =
    r#"{"type":"object","properties":{"body":{"description":"The body, sent as JSON."}}}"#;

/// Sends an HTTP request to a fixed address. The model fills in the query or the body, never the
/// host, the path or a header.
#[derive(Clone, Debug)]
pub struct HttpTool {
    about: About,
    sender: Sender,
    request: Request,
}

impl HttpTool {
    /// Makes a tool of a request: with `GET`, the model gives the query, and otherwise the body,
    /// unless the request has one.
    pub fn new(named: Named, sender: Sender, request: Request) -> Self {
        let schema = match (request.is_safe(), &request.body) {
            (true, _) => QUERY,
            (false, Body::None) => BODY,
            (false, _) => r#"{"type":"object"}"#,
        };
        Self { about: named.about(schema), sender, request }
    }

    fn request(&self, input: &Object) -> Result<Request, String> {
        let mut request = self.request.clone();
        if request.is_safe() {
            let Some(query) = input.get("query") else { return Ok(request) };
            let query = query.as_object().ok_or("`query` must be an object")?;
            for (name, value) in query.members() {
                // Numbers and the like are meant as they are written.
                let text = value.as_text().unwrap_or_else(|| value.as_str().to_owned());
                request.url = with_query(&request.url, &name, &text);
            }
        } else if request.body == Body::None
            && let Some(body) = input.get("body")
        {
            request.body = Body::Json(body);
        }
        Ok(request)
    }
}

impl Tool for HttpTool {
    fn about(&self) -> &About {
        &self.about
    }

    fn call<'a>(&'a self, input: Object, _: &'a Call) -> Boxed<'a, Result<Vec<Part>, String>> {
        Box::pin(async move {
            let request = self.request(&input)?;
            self.sender.send(&request).await.map_err(|error| error.to_string())
        })
    }
}
