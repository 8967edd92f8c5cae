//! A file that changes while the hub runs.

use std::{convert::Infallible, path::PathBuf, sync::Arc};

use nuncio::{
    configuration::{Changes, Configuration, Layers, Loaded, Watcher},
    telemetry::Telemetry,
};
use nuncio_hub::{Hub, directory::Actor};

use super::{agents, configured::Told, limits, start::rule_settings};
use crate::demo::Demo;

/// Takes over what can change while the hub runs.
pub(super) struct Reload {
    watcher: Watcher,
    file: Option<PathBuf>,
    current: Configuration,
    hub: Hub,
    told: Arc<Told>,
    demo: Option<Arc<Demo>>,
}

impl Reload {
    pub(super) fn new(
        layers: Layers,
        loaded: &Loaded,
        (hub, told): (Hub, Arc<Told>),
        demo: Option<Arc<Demo>>,
    ) -> anyhow::Result<Self> {
        let file = layers.file.clone();
        let watcher = Watcher::new(layers, loaded)?;
        Ok(Self { watcher, file, current: loaded.configuration.clone(), hub, told, demo })
    }

    /// Waits for changes for as long as it is asked to.
    pub(super) async fn run(mut self, telemetry: &Telemetry) -> Infallible {
        loop {
            match self.watcher.changed().await {
                Ok(loaded) => self.take(loaded, telemetry).await,
                Err(error) => {
                    tracing::error!(
                        "the new configuration is not taken, the old one stays: {error}"
                    );
                }
            }
        }
    }

    async fn take(&mut self, loaded: Loaded, telemetry: &Telemetry) {
        for warning in &loaded.warnings {
            tracing::warn!("{warning}");
        }
        self.told.take(&loaded);
        let next = loaded.configuration;
        let changes = Changes::between(&self.current, &next);
        for key in &changes.restart {
            tracing::warn!(key, "takes effect only when the hub is started again");
        }
        telemetry.set_level(&next.telemetry);
        if let Err(error) = self.apply(&next).await {
            tracing::error!("the new configuration is taken in part only: {error:#}");
            return;
        }
        tracing::info!(changed = changes.live.join(", "), "took the new configuration");
        self.current = next;
    }

    async fn apply(&self, next: &Configuration) -> anyhow::Result<()> {
        let settings = rule_settings(next);
        if settings != rule_settings(&self.current) {
            self.hub.directory.set_settings(settings, &Actor::configuration()).await?;
        }
        limits::put_in_force(&self.hub, next);
        let told = (next, self.file.as_deref());
        agents::configure(&self.hub, told, self.demo.as_deref()).await
    }
}
