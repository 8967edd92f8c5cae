//! What the hub was told, and by whom.

use axum::{Json, extract::State};

use crate::{
    configuration::Shown,
    http::{problem::Problem, who::Who},
    hub::Hub,
};

#[utoipa::path(
    get,
    path = "/api/v1/configuration",
    operation_id = "showConfiguration",
    tag = "operations",
    summary = "Shows the configuration as it was loaded, with the source of each value",
    description = "For administrators. Secrets are never shown.",
    responses((status = 200, description = "Done", body = Shown)),
)]
pub(crate) async fn show(State(hub): State<Hub>, who: Who) -> Result<Json<Shown>, Problem> {
    who.administrator()?;
    // It is that of the whole hub.
    if who.organisation != hub.settings.organisation {
        return Err(Problem::forbidden("only the hub's own organisation may read this"));
    }
    let configured = hub.configured.as_ref().ok_or_else(Problem::not_found)?;
    Ok(Json(configured.shown()))
}
