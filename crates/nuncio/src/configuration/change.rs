//! What a new configuration changes, and whether that needs a new start.

use super::{Configuration, Telemetry};

/// What is different between two configurations, by top-level keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// What takes effect at once.
    pub live: Vec<&'static str>,
    /// What takes effect only when the hub is started again.
    pub restart: Vec<&'static str>,
}

impl Changes {
    /// Compares two configurations.
    pub fn between(old: &Configuration, new: &Configuration) -> Self {
        let mut changes = Self::default();
        // Named one by one, so that a new key cannot be forgotten here.
        let Configuration {
            listen,
            public_url,
            tls,
            data_dir,
            database,
            redis,
            organisation,
            dialects,
            hierarchy,
            root_siblings,
            authentication,
            agents,
            peers,
            rules,
            limits,
            quotas,
            telemetry,
        } = new;
        changes.restart("listen", *listen != old.listen);
        changes.restart("public_url", *public_url != old.public_url);
        changes.restart("tls", *tls != old.tls);
        changes.restart("data_dir", *data_dir != old.data_dir);
        changes.restart("database", *database != old.database);
        changes.restart("redis", *redis != old.redis);
        changes.restart("organisation", *organisation != old.organisation);
        changes.restart("dialects", *dialects != old.dialects);
        changes.live("hierarchy", *hierarchy != old.hierarchy);
        changes.live("root_siblings", *root_siblings != old.root_siblings);
        changes.restart("authentication", *authentication != old.authentication);
        changes.live("agents", *agents != old.agents);
        changes.live("peers", *peers != old.peers);
        changes.live("rules", *rules != old.rules);
        changes.live("limits", *limits != old.limits);
        changes.live("quotas", *quotas != old.quotas);
        let Telemetry { level, levels, format, otlp, metrics } = telemetry;
        let before = &old.telemetry;
        changes.live("telemetry.level", *level != before.level || *levels != before.levels);
        changes.restart("telemetry.format", *format != before.format);
        changes.restart("telemetry.otlp", *otlp != before.otlp);
        changes.restart("telemetry.metrics", *metrics != before.metrics);
        changes
    }

    /// Tells whether nothing is different.
    pub const fn is_empty(&self) -> bool {
        self.live.is_empty() && self.restart.is_empty()
    }

    fn live(&mut self, key: &'static str, is_other: bool) {
        self.live.extend(is_other.then_some(key));
    }

    fn restart(&mut self, key: &'static str, is_other: bool) {
        self.restart.extend(is_other.then_some(key));
    }
}

#[cfg(test)]
mod tests {
    use super::{super::read, *};

    #[track_caller]
    fn check(old: &str, new: &str, live: &[&str], restart: &[&str]) {
        let read = |text| read(text, &[].into()).unwrap();
        let changes = Changes::between(&read(old), &read(new));
        assert_eq!((&changes.live[..], &changes.restart[..]), (live, restart));
        assert_eq!(changes.is_empty(), live.is_empty() && restart.is_empty());
    }

    #[test]
    fn agents_and_rules_change_at_once_and_listeners_do_not() {
        check("", "", &[], &[]);
        check("", "agents: [{name: a, kind: echo}]", &["agents"], &[]);
        check("", "rules: [{effect: deny, caller: '*', target: a}]", &["rules"], &[]);
        check("", "limits: {calls_per_minute: 5}", &["limits"], &[]);
        check("", "telemetry: {level: debug}", &["telemetry.level"], &[]);
        check("", "listen: 127.0.0.1:1\ndatabase: memory", &[], &["listen", "database"]);
        check("database: postgres://u:a@h", "database: postgres://u:b@h", &[], &["database"]);
    }

    #[test]
    fn where_something_stands_in_the_file_is_no_change() {
        check("agents: [{name: a, kind: echo}]", "\n\nagents:\n- name: a\n  kind: echo", &[], &[]);
    }
}
