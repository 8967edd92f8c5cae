//! The management API, under `/api/v1`.

mod agents;
mod audit;
mod cards;
mod configuration;
mod doctor;
mod epoch;
mod events;
mod inbox;
mod keys;
mod openapi;
pub(super) mod register;
mod route;
mod rules;
pub(super) mod runs;
pub(super) mod tasks;
pub(super) mod triggers;
mod work;
pub(super) mod workflows;

use axum::{
    Router,
    routing::{delete, get, post, put},
};

pub use self::openapi::description;
pub(super) use self::{openapi::openapi, tasks::sight};
use crate::hub::Hub;

pub(super) fn router() -> Router<Hub> {
    Router::new()
        .route("/agents", get(agents::search).post(agents::add))
        .route("/agents/{agent}", get(agents::show).patch(agents::edit).delete(agents::remove))
        .route("/agents/{agent}/parent", put(agents::place))
        .route("/agents/{agent}/pause", post(agents::pause))
        .route("/agents/{agent}/resume", post(agents::resume))
        .route("/agents/{agent}/peers", get(agents::peers))
        .route("/agents/{agent}/reach", get(rules::reach))
        .route("/agents/{agent}/heartbeat", post(register::heartbeat))
        .route("/agents/{agent}/discovery", get(register::discover))
        .route("/agents/{agent}/card", get(cards::show).put(cards::update))
        .route("/agents/{agent}/card/history", get(cards::history))
        .route("/agents/{agent}/card/held", get(cards::held).post(cards::decide))
        .route("/cards/check", post(cards::check))
        .route("/agents/{agent}/doctor", post(doctor::examine))
        .route("/agents/{agent}/tokens", get(keys::tokens).post(keys::new_token))
        .route("/agents/{agent}/tokens/{key}", delete(keys::revoke_token))
        .route("/register", post(register::register))
        .route("/enrolments", post(keys::new_enrolment))
        .route("/keys", get(keys::list).post(keys::new))
        .route("/keys/{key}", delete(keys::revoke))
        .route("/login", post(keys::login_link))
        .route("/logout", post(keys::log_out))
        .route("/whoami", get(keys::who_am_i))
        .route("/rules", get(rules::list))
        .route("/rules/{id}", get(rules::show).put(rules::put).delete(rules::remove))
        .route("/policy/explain", get(rules::explain))
        .route("/route", get(route::route))
        .route("/configuration", get(configuration::show))
        .route("/epoch", get(epoch::epoch))
        .route("/events", get(events::list))
        .route("/events/ws", get(events::socket))
        .route("/tickets", post(events::new_ticket))
        .route("/audit", get(audit::list))
        .route("/work", get(work::fetch))
        .route("/work/{task}/accept", post(work::accept))
        .route("/work/{task}/events", post(work::bring))
        .route("/tasks", get(tasks::list))
        .route("/tasks/{task}", get(tasks::show))
        .route("/tasks/{task}/events", get(tasks::log::list))
        .route("/tasks/{task}/tree", get(tasks::tree))
        .route("/tasks/{task}/cancel", post(tasks::cancel))
        .route("/tasks/{task}/messages", post(tasks::say::reply))
        .route("/tasks/{task}/wire", get(tasks::wire::show))
        .route("/tasks/{task}/push", get(tasks::push::show))
        .route("/tasks/{task}/push/{letter}/redeliver", post(tasks::push::redeliver))
        .route("/workflows", get(workflows::list))
        .route("/workflows/validate", post(workflows::validate))
        .route("/workflows/{name}", get(workflows::show).put(workflows::save))
        .route("/workflows/{name}", delete(workflows::remove))
        .route("/workflows/{name}/runs", post(runs::begin))
        .route("/runs", get(runs::list))
        .route("/runs/{run}", get(runs::show))
        .route("/runs/{run}/events", get(runs::events))
        .route("/runs/{run}/cancel", post(runs::cancel))
        .route("/runs/{run}/rerun", post(runs::rerun))
        .route("/runs/{run}/nodes/{node}/answer", post(runs::answer))
        .route("/triggers", get(triggers::list).post(triggers::add))
        .route("/triggers/{trigger}", get(triggers::show).delete(triggers::remove))
        .route("/triggers/{trigger}/pause", post(triggers::pause))
        .route("/triggers/{trigger}/resume", post(triggers::resume))
        .route("/hooks/{trigger}", post(triggers::hook))
        .route("/inbox", get(inbox::list))
        .route("/inbox/{task}/answer", post(inbox::answer))
        .route("/inbox/{task}/approve", post(inbox::approve))
        .route("/inbox/{task}/deny", post(inbox::deny))
}
