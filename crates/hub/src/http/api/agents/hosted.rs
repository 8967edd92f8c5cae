//! Agents that the hub is to run itself, on the word of an administrator.

use nuncio_net::egress::{Errand, Purpose};

use super::Add;
use crate::{
    agent::{Card, Hosting},
    gateway::Unfit,
    http::problem::Problem,
    hub::Hub,
};

/// Checks what an administrator wants the hub to run, if anything.
pub(super) async fn check(hub: &Hub, add: &Add) -> Result<Option<(Hosting, Card)>, Problem> {
    let Some(kind) = &add.kind else {
        return match add.settings {
            Some(_) => Err(Problem::invalid("settings", "belong to a `kind`; name one")),
            None => Ok(None),
        };
    };
    let elsewhere = [
        ("card", add.card.is_some()),
        ("card_url", add.card_url.is_some()),
        ("url", add.url.is_some()),
        ("internal_url", add.internal_url.is_some()),
        ("delivery", add.delivery.is_some()),
        ("watch", add.watch.is_some()),
    ];
    if let Some((field, _)) = elsewhere.into_iter().find(|(_, is_said)| *is_said) {
        let detail = "is for agents elsewhere, and this one is to run in the hub; leave it out";
        return Err(Problem::invalid(field, detail));
    }
    let Some(name) = &add.name else {
        return Err(Problem::invalid("name", "is needed for an agent that the hub runs"));
    };
    let employer = hub.gateway.as_ref().and_then(crate::Gateway::employer);
    let employer =
        employer.ok_or_else(|| Problem::invalid("kind", "this hub runs no agents itself"))?;
    let settings = add.settings.as_ref().map_or("{}", |settings| settings.as_str());
    let hosting = Hosting { kind: kind.clone(), settings: settings.to_owned() };
    let fit = employer.check(name, add.role.as_deref(), &hosting);
    let fit = fit.map_err(|Unfit { field, detail }| Problem::invalid(field, detail))?;
    for (field, url) in &fit.urls {
        let errand = Errand::administrator(Purpose::Agent);
        if let Err(error) = hub.guard.check_resolved(url, errand).await {
            let problem = Problem::invalid(field.as_str(), format!("{url}: {error}"));
            return Err(Problem { code: "ADDRESS_REFUSED", ..problem });
        }
    }
    Ok(Some((hosting, fit.card)))
}
