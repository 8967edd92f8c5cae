//! Examinations that the hub asks for, of agents in its directory.

use std::time::Duration;

use http::HeaderMap;
use nuncio_client::{credentials::prove, discover::Source, watch::Secrets};
use nuncio_hub::doctor::{Doctor, Patient, Report};

use super::{Asked, Signatures, examine, wire::Wire, write};

/// How long each request may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Examines agents for the hub: with its credential, and only where it may go itself.
#[derive(Debug)]
pub(crate) struct HouseDoctor;

impl Doctor for HouseDoctor {
    fn examine(&self, patient: Patient) -> Report<'_> {
        Box::pin(visit(patient))
    }
}

async fn visit(patient: Patient) -> Result<String, String> {
    let source = Source::parse(&patient.url).map_err(|error| error.to_string())?;
    let wire = Wire::of_hub(patient.net.clone(), PATIENCE);
    let secrets = secrets(&patient, &wire).await;
    let asked = Asked {
        wire,
        source: &source,
        signatures: Signatures::Prefer,
        is_read_only: patient.is_read_only,
        credentials: &|_| Ok(patient.credentials.clone()),
    };
    let report = Box::pin(examine(asked)).await?;
    // An agent may repeat what it was shown, and the report quotes it.
    Ok(secrets.hide(&write::json(&report)).into_owned())
}

/// Returns what the agent is shown and nobody else may see.
async fn secrets(patient: &Patient, wire: &Wire) -> Secrets {
    let mut secrets = Secrets::new();
    secrets.add_query(&patient.url);
    let Ok(url) = wire.check_url(&patient.url) else { return secrets };
    let Some(credentials) = &patient.credentials else { return secrets };
    let mut headers = HeaderMap::new();
    let guard = patient.net.guard();
    // Without a proof there is nothing to hide.
    if let Ok(url) = prove(&**credentials, guard, &url, &mut headers).await {
        secrets.add_query(url.as_str());
    }
    headers.values().for_each(|value| secrets.add_header(value));
    secrets
}
