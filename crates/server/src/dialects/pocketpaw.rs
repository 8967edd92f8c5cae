//! `PocketPaw`: its settings, and its card.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nuncio_protocol::{
    card::AgentCard,
    error::{Error, ErrorKind},
    json::{self, Object},
    operation::Request,
    state::TaskState,
};
use nuncio_tasks::{engine::Settings, store::Keep};

use super::tell;

/// The member of metadata that holds earlier messages.
const HISTORY: &str = "history";

/// How long a task may take (P-04).
const TASK_TIMEOUT: Duration = Duration::from_secs(120);
/// How long ended tasks are kept in memory (PD-01), and how many (P-34).
const EXPIRES_AFTER: Duration = Duration::from_secs(3_600);
const KEPT: u64 = 1_000;

/// What a caller waits longer than the task may take, to be told that it has failed.
const MARGIN: Duration = Duration::from_secs(5);

/// Said while the switch is off (PD-05).
const DISABLED: &str = "A2A protocol is disabled on this agent.";

/// `PocketPaw`'s settings, as far as they are about serving.
#[derive(Clone, Debug)]
#[must_use]
pub struct PocketPaw {
    switch: Switch,
    name: Option<String>,
    description: Option<String>,
    version: Option<String>,
    task_timeout: Option<Duration>,
    expires_after: Option<Duration>,
    kept: Option<u64>,
}

/// Switches an agent on and off while it is served. All clones are the same switch.
#[derive(Clone, Debug)]
pub struct Switch(Arc<AtomicBool>);

/// A setting that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting} is `{value}`, which is not {wanted}")]
pub struct InvalidSetting {
    setting: &'static str,
    value: String,
    wanted: &'static str,
}

impl Default for PocketPaw {
    fn default() -> Self {
        Self {
            switch: Switch::new(true),
            name: None,
            description: None,
            version: None,
            task_timeout: Some(TASK_TIMEOUT),
            expires_after: Some(EXPIRES_AFTER),
            kept: Some(KEPT),
        }
    }
}

impl PocketPaw {
    /// Reads the settings from the environment, such as `POCKETPAW_A2A_TASK_TIMEOUT` (P-05).
    /// As in `PocketPaw` the agent is switched off unless it says otherwise (P-03).
    pub fn from_env() -> Result<Self, InvalidSetting> {
        Self::read(|setting| {
            std::env::var(format!("POCKETPAW_{}", setting.to_ascii_uppercase())).ok()
        })
    }

    /// Reads the settings from the text of `PocketPaw`'s `config.json`.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let settings: Object = json::from_str(text)?;
        Self::read(|setting| {
            let value = settings.get(setting)?;
            Some(value.as_text().unwrap_or_else(|| value.as_str().to_owned()))
        })
        .map_err(|error| Error::new(ErrorKind::InvalidParams, error.to_string()))
    }

    fn read(find: impl Fn(&str) -> Option<String>) -> Result<Self, InvalidSetting> {
        let find = |setting| find(setting).filter(|value| !value.is_empty() && value != "null");
        let mut settings = Self {
            switch: Switch::new(false),
            name: find("a2a_agent_name"),
            description: find("a2a_agent_description"),
            version: find("a2a_agent_version"),
            ..Self::default()
        };
        if let Some(value) = find("a2a_enabled") {
            let enabled = match value.to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => true,
                "false" | "0" | "no" | "off" => false,
                _ => {
                    let wanted = "true or false";
                    return Err(InvalidSetting { setting: "a2a_enabled", value, wanted });
                }
            };
            settings.switch.set(enabled);
        }
        if let Some(value) = find("a2a_task_timeout") {
            let seconds = value.parse().ok().filter(|seconds| *seconds > 0);
            let Some(seconds) = seconds else {
                let wanted = "a number of seconds";
                return Err(InvalidSetting { setting: "a2a_task_timeout", value, wanted });
            };
            settings.task_timeout = Some(Duration::from_secs(seconds));
        }
        Ok(settings)
    }

    /// Obeys this switch: while it is off nobody is answered, in whatever form they ask.
    pub fn switch(mut self, switch: &Switch) -> Self {
        self.switch = switch.clone();
        self
    }

    /// Fails tasks that take longer, after their work was ended; `None` lets them. A task that
    /// waits for its caller takes no time.
    pub fn task_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.task_timeout = timeout;
        self
    }

    /// Forgets tasks so long after their end; `None` never does. Counts only if tasks are in
    /// memory, and the engine's settings do not say what is kept.
    pub fn expire_after(mut self, age: Option<Duration>) -> Self {
        self.expires_after = age;
        self
    }

    /// Keeps so many ended tasks of each state; `None` keeps all. Counts when
    /// [`expire_after`](Self::expire_after) does.
    pub fn keep(mut self, count: Option<u64>) -> Self {
        self.kept = count;
        self
    }

    pub(super) fn disabled(&self) -> Option<Error> {
        (!self.switch.is_on()).then(|| Error::new(ErrorKind::PermissionDenied, DISABLED))
    }

    /// Returns how long a turn of the agent may take.
    pub(crate) fn limit(&self) -> Option<Duration> {
        self.task_timeout
    }

    /// Writes its own name, description and version onto the card.
    pub(crate) fn describe(&self, card: &mut AgentCard) {
        let own = [
            (&self.name, &mut card.name),
            (&self.description, &mut card.description),
            (&self.version, &mut card.version),
        ];
        for (own, member) in own {
            if let Some(own) = own {
                member.clone_from(own);
            }
        }
    }

    /// Makes the engine wait and forget as `PocketPaw` does.
    pub(crate) fn settle(&self, settings: &mut Settings, in_memory: bool) {
        if let Some(limit) = self.task_timeout {
            settings.wait = settings.wait.max(limit + MARGIN);
            settings.longest_wait = settings.longest_wait.max(settings.wait);
        }
        let tasks = &mut settings.retention.tasks;
        if in_memory && tasks.is_empty() && (self.expires_after.is_some() || self.kept.is_some()) {
            let keep = Keep { age: self.expires_after, count: self.kept };
            let ended =
                [TaskState::Completed, TaskState::Failed, TaskState::Canceled, TaskState::Rejected];
            tasks.extend(ended.map(|state| (state, keep)));
        }
    }
}

impl Switch {
    /// Makes a switch that is on or off.
    pub fn new(is_on: bool) -> Self {
        Self(Arc::new(AtomicBool::new(is_on)))
    }

    /// Switches on or off.
    pub fn set(&self, is_on: bool) {
        self.0.store(is_on, Ordering::Relaxed);
    }

    /// Tells whether it is on.
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Says on a card that JSON-RPC is to be found below `/a2a` (P-11, P-24).
pub(super) fn below_a2a(card: &AgentCard) -> AgentCard {
    let mut card = card.clone();
    let interfaces = card.supported_interfaces.iter_mut();
    for interface in interfaces.filter(|interface| interface.protocol_binding == "JSONRPC") {
        if !interface.url.ends_with("/a2a") {
            interface.url = format!("{}/a2a", interface.url.trim_end_matches('/'));
        }
    }
    card
}

/// Tells the agent the messages that its caller brings along (PD-06).
pub(super) fn tell_history(request: &mut Request) {
    let (Request::SendMessage(send) | Request::SendStreamingMessage(send)) = &*request else {
        return;
    };
    let history = send.metadata.as_ref().and_then(|metadata| metadata.get(HISTORY));
    if let Some(history) = history {
        tell(request, HISTORY, history);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(settings: &[(&str, &str)]) -> Result<PocketPaw, InvalidSetting> {
        let find = |name: &str| {
            settings.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        PocketPaw::read(find)
    }

    /// P-03: off unless switched on; P-04: 120 seconds.
    #[test]
    fn settings_that_are_not_there_are_those_of_pocketpaw() {
        let settings = from(&[]).unwrap();
        assert!(!settings.switch.is_on());
        assert_eq!(settings.limit(), Some(Duration::from_secs(120)));
    }

    /// P-04, P-05.
    #[test]
    fn settings_are_read_by_their_names() {
        let settings = from(&[
            ("a2a_enabled", "True"),
            ("a2a_agent_name", "Paw"),
            ("a2a_agent_version", "2.1"),
            ("a2a_task_timeout", "60"),
        ])
        .unwrap();
        assert!(settings.switch.is_on());
        assert_eq!(settings.limit(), Some(Duration::from_secs(60)));
        let mut card = AgentCard::builder("agent").description("about").build();
        settings.describe(&mut card);
        assert_eq!((&*card.name, &*card.description, &*card.version), ("Paw", "about", "2.1"));
    }

    #[test]
    fn settings_of_the_file_are_typed() {
        let settings =
            PocketPaw::from_json(r#"{"a2a_enabled":true,"a2a_task_timeout":30,"theme":{}}"#);
        let settings = settings.unwrap();
        assert!(settings.switch.is_on());
        assert_eq!(settings.limit(), Some(Duration::from_secs(30)));
    }

    #[test]
    fn settings_that_make_no_sense_are_named() {
        for (setting, value) in [("a2a_enabled", "perhaps"), ("a2a_task_timeout", "0")] {
            let error = from(&[(setting, value)]).unwrap_err().to_string();
            assert!(error.contains(setting) && error.contains(value), "{error}");
        }
    }

    /// P-34, PD-01: in memory only, and never against what the operator has said.
    #[test]
    fn retention_is_for_tasks_in_memory() {
        for (in_memory, rules) in [(true, 4), (false, 0)] {
            let mut settings = Settings::default();
            PocketPaw::default().settle(&mut settings, in_memory);
            assert_eq!(settings.retention.tasks.len(), rules, "in memory: {in_memory}");
        }
    }
}
