//! What a new configuration changes, and whether that needs a new start.

use std::collections::BTreeSet;

use ipnet::IpNet;

use super::{Agent, Configuration, Limits, Telemetry};

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
            hosts,
            tls,
            data_dir,
            database,
            organisation,
            dialects,
            hierarchy,
            root_siblings,
            hold_cards,
            cards,
            authentication,
            providers,
            default_model,
            mcp_servers,
            agents,
            rules,
            limits,
            budgets,
            telemetry,
        } = new;
        changes.restart("listen", *listen != old.listen);
        changes.restart("public_url", *public_url != old.public_url);
        changes.restart("hosts", *hosts != old.hosts);
        changes.restart("tls", *tls != old.tls);
        changes.restart("data_dir", *data_dir != old.data_dir);
        changes.restart("database", *database != old.database);
        changes.restart("organisation", *organisation != old.organisation);
        changes.restart("dialects", *dialects != old.dialects);
        changes.live("hierarchy", *hierarchy != old.hierarchy);
        changes.live("root_siblings", *root_siblings != old.root_siblings);
        changes.restart("hold_cards", *hold_cards != old.hold_cards);
        changes.restart("cards", *cards != old.cards);
        changes.restart("authentication", *authentication != old.authentication);
        changes.live("providers", *providers != old.providers);
        changes.live("default_model", *default_model != old.default_model);
        changes.live("mcp_servers", *mcp_servers != old.mcp_servers);
        changes.live("agents", *agents != old.agents);
        // The way out is guarded by what was allowed at the start.
        changes.restart("agents.allow_private", opened(agents) != opened(&old.agents));
        let is_plain = |agents: &[Agent]| agents.iter().any(|agent| agent.allow_http);
        changes.restart("agents.allow_http", is_plain(agents) != is_plain(&old.agents));
        changes.live("rules", *rules != old.rules);
        changes.live("limits", *limits != old.limits);
        for (key, is_other) in fixed(limits, &old.limits) {
            changes.restart(key, is_other);
        }
        changes.live("budgets", *budgets != old.budgets);
        let Telemetry { level, levels, format, agents, otlp } = telemetry;
        let before = &old.telemetry;
        changes.live("telemetry.level", *level != before.level || *levels != before.levels);
        changes.restart("telemetry.format", *format != before.format);
        changes.restart("telemetry.agents", *agents != before.agents);
        changes.restart("telemetry.otlp", *otlp != before.otlp);
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

/// Returns the limits that are built into what is started, and whether they are different.
fn fixed(new: &Limits, old: &Limits) -> [(&'static str, bool); 12] {
    [
        ("limits.request_body", new.request_body != old.request_body),
        ("limits.connections", new.connections != old.connections),
        (
            "limits.connections_per_address",
            new.connections_per_address != old.connections_per_address,
        ),
        ("limits.header_timeout", new.header_timeout != old.header_timeout),
        ("limits.drain", new.drain != old.drain),
        ("limits.connect_timeout", new.connect_timeout != old.connect_timeout),
        ("limits.wait_timeout", new.wait_timeout != old.wait_timeout),
        ("limits.longest_wait", new.longest_wait != old.longest_wait),
        ("limits.heartbeat", new.heartbeat != old.heartbeat),
        ("limits.offline", new.offline != old.offline),
        ("limits.sweep", new.sweep != old.sweep),
        ("limits.probe", new.probe != old.probe),
    ]
}

/// Returns every range of addresses that is open for some agent.
fn opened(agents: &[Agent]) -> BTreeSet<IpNet> {
    agents.iter().flat_map(|agent| &agent.allow_private).map(|range| range.0).collect()
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
        check("", "agents: [{name: a, url: 'https://a'}]", &["agents"], &[]);
        check("", "rules: [{effect: deny, caller: '*', target: a}]", &["rules"], &[]);
        check("", "limits: {calls_per_minute: 5}", &["limits"], &[]);
        check("", "limits: {probe: 5s}", &["limits"], &["limits.probe"]);
        check("", "budgets: {agents: {a: {calls_per_day: 1}}}", &["budgets"], &[]);
        check("", "hosts: [hub.example]\nhold_cards: true", &[], &["hosts", "hold_cards"]);
        check("", "telemetry: {level: debug}", &["telemetry.level"], &[]);
        check("", "listen: 127.0.0.1:1\ndatabase: memory", &[], &["listen", "database"]);
        check("database: postgres://u:a@h", "database: postgres://u:b@h", &[], &["database"]);
    }

    #[test]
    fn what_agents_open_is_open_from_the_next_start() {
        let agent = |name, keys| format!("- {{name: {name}, url: 'http://localhost'{keys}}}\n");
        let one = format!("agents:\n{}", agent("a", ", allow_private: [10.0.0.0/8]"));
        check("", &one, &["agents"], &["agents.allow_private"]);
        let same = one.clone() + &agent("b", ", allow_private: [10.0.0.0/8]");
        check(&one, &same, &["agents"], &[]);
        let plain = one.clone() + &agent("b", ", allow_http: true");
        check(&one, &plain, &["agents"], &["agents.allow_http"]);
    }

    #[test]
    fn where_something_stands_in_the_file_is_no_change() {
        let one = "agents: [{name: a, url: 'https://a'}]";
        check(one, "\n\nagents:\n- name: a\n  url: https://a", &[], &[]);
    }
}
