//! `/openapi.json`: the management API in words that programs understand.
//!
//! Handlers describe themselves. What all of them share is added here: how callers prove who
//! they are, and what a refusal looks like. That is done when the program is made, and not by the
//! program: `openapi.json` in the folder of this crate is the document, and a test holds it to
//! what the handlers say.

use axum::response::{IntoResponse, Response};
use http::{
    HeaderValue,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use utoipa::{
    OpenApi as _,
    openapi::{
        ContentBuilder, HttpMethod, ObjectBuilder, OpenApi, PathItem, Ref, ResponseBuilder,
        path::{Operation, OperationBuilder},
        schema::{SchemaType, Type},
        security::{
            ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
        },
    },
};

use super::{
    agents, audit, cards, configuration, doctor, epoch, events, inbox, keys, register, route,
    rules, runs, tasks, triggers, work, workflows,
};

/// What an answer can be instead of what was asked for.
const REFUSALS: [(&str, &str); 10] = [
    ("400", "Something in the request does not fit"),
    ("401", "No credential, or one that is not valid"),
    ("403", "The caller may not do this"),
    ("404", "There is no such thing, or none that the caller may know of"),
    ("409", "It does not go together with what there is"),
    ("410", "The agent was removed"),
    ("413", "The body is too large"),
    ("415", "The body is not `application/json`"),
    ("429", "Too many requests; `Retry-After` says how long to wait"),
    ("503", "The directory is not available now"),
];

/// Paths beside the API: where, what, and what comes back. Only the metrics need a credential.
const BESIDE: [(&str, &str, &str, &str); 9] = [
    ("/", "home", "Shows a browser who is there", "text/html"),
    ("/healthz", "healthz", "Says that the hub is up", "text/plain"),
    ("/readyz", "readyz", "Says whether the hub can do its work", "text/plain"),
    ("/version", "version", "Says which program this is", "application/json"),
    ("/metrics", "metrics", "Returns counts as OpenMetrics", "application/openmetrics-text"),
    ("/login", "login", "Lets a browser in by a link that is good once", ""),
    ("/openapi.json", "openapi", "Returns this document", "application/json"),
    ("/.well-known/jwks.json", "jwks", "Returns keys for pair tokens", "application/jwk-set+json"),
    (
        "/.well-known/ai-catalog.json",
        "aiCatalog",
        "Lists what the asker may see",
        "application/ai-catalog+json",
    ),
];

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Nuncio",
        description = "Which agents exist, how they are, and who may call whom"
    ),
    paths(
        agents::search,
        agents::add,
        agents::show,
        agents::edit,
        agents::remove,
        agents::place,
        agents::pause,
        agents::resume,
        agents::peers,
        register::heartbeat,
        register::discover,
        register::register,
        cards::show,
        cards::update,
        cards::history,
        cards::held,
        cards::decide,
        cards::check,
        doctor::examine,
        keys::tokens,
        keys::new_token,
        keys::revoke_token,
        keys::new_enrolment,
        keys::list,
        keys::new,
        keys::revoke,
        keys::login_link,
        keys::log_out,
        keys::who_am_i,
        rules::list,
        rules::show,
        rules::put,
        rules::remove,
        rules::explain,
        rules::reach,
        route::route,
        configuration::show,
        epoch::epoch,
        events::list,
        events::socket,
        events::new_ticket,
        audit::list,
        work::fetch,
        work::accept,
        work::bring,
        tasks::list,
        tasks::show,
        tasks::log::list,
        tasks::tree,
        tasks::cancel,
        tasks::say::reply,
        tasks::wire::show,
        tasks::push::show,
        tasks::push::redeliver,
        workflows::list,
        workflows::validate,
        workflows::show,
        workflows::save,
        workflows::remove,
        runs::begin,
        runs::list,
        runs::show,
        runs::events,
        runs::cancel,
        runs::rerun,
        runs::answer,
        triggers::list,
        triggers::add,
        triggers::show,
        triggers::remove,
        triggers::pause,
        triggers::resume,
        triggers::hook,
        inbox::list,
        inbox::answer,
        inbox::approve,
        inbox::deny,
    )
)]
struct Handlers;

/// Returns the document.
pub(crate) async fn openapi() -> Response {
    const TEXT: &str = include_str!("../../../openapi.json");
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("public, max-age=60")),
    ];
    (headers, TEXT).into_response()
}

/// Writes the document anew, from what the handlers say.
///
/// A hub serves what this has written once: a program that never calls it has no room for it.
pub fn description() -> String {
    let mut document = Handlers::openapi();
    document.info.license = None;
    describe_shared(&mut document);
    for item in document.paths.paths.values_mut() {
        let operations =
            [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch];
        operations.into_iter().flatten().for_each(describe_refusals);
    }
    for (path, id, summary, kind) in BESIDE {
        let item = PathItem::new(HttpMethod::Get, beside(path, id, summary, kind));
        document.paths.paths.insert(path.to_owned(), item);
    }
    let mut text = document.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// Describes what all operations share: credentials and refusals.
fn describe_shared(document: &mut OpenApi) {
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer);
    let bearer = bearer.description(Some("An API key, an agent's token, or a JWT")).build();
    let key = ApiKey::Header(ApiKeyValue::with_description("X-API-Key", "An API key"));
    let components = document.components.get_or_insert_default();
    components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    components.add_security_scheme("apiKey", SecurityScheme::ApiKey(key));
    let text = || ObjectBuilder::new().schema_type(SchemaType::new(Type::String));
    let number = ObjectBuilder::new().schema_type(SchemaType::new(Type::Integer));
    let problem = ObjectBuilder::new()
        .description(Some("Why a request was refused (RFC 9457)"))
        .property("type", text())
        .property("title", text())
        .property("status", number)
        .property("code", text().description(Some("A word that programs may rely on")))
        .property("detail", text().description(Some("The same for people")))
        .property("field", text().description(Some("Where in the request")))
        .required("type")
        .required("title")
        .required("status")
        .required("code")
        .required("detail");
    components.schemas.insert("Problem".to_owned(), problem.build().into());
    for (status, description) in REFUSALS {
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem")));
        let refusal = ResponseBuilder::new()
            .description(description)
            .content("application/problem+json", content.build());
        components.responses.insert(format!("Refused{status}"), refusal.build().into());
    }
    document.security = Some(vec![
        SecurityRequirement::new("bearer", [] as [String; 0]),
        SecurityRequirement::new("apiKey", [] as [String; 0]),
    ]);
}

fn describe_refusals(operation: &mut Operation) {
    for (status, _) in REFUSALS {
        let refusal = Ref::from_response_name(format!("Refused{status}"));
        operation.responses.responses.insert(status.to_owned(), refusal.into());
    }
}

fn beside(path: &str, id: &str, summary: &str, kind: &str) -> Operation {
    let mut done = ResponseBuilder::new().description("Done");
    if !kind.is_empty() {
        done = done.content(kind, ContentBuilder::new().build());
    }
    let status = if kind.is_empty() { "303" } else { "200" };
    let operation = OperationBuilder::new()
        .operation_id(Some(id))
        .tag("operations")
        .summary(Some(summary))
        .response(status, done.build());
    let mut operation = operation.build();
    if path == "/metrics" {
        describe_refusals(&mut operation);
    } else {
        // Everybody may ask.
        operation.security = Some(vec![SecurityRequirement::default()]);
    }
    operation
}
