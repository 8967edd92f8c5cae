//! What the opportunity agents say to and about one another besides requests.
//!
//! The bodies of `/a2a/capabilities` and `/a2a/health` are fixed nowhere; these are ours.

use crate::json::{Object, record};

record! {
    /// The body of `POST /register`, and an entry of [`Agents`] (OD-01).
    pub struct Registration {
        /// The agent's name.
        agent_id: String = required "agent_id" | "agentId",
        /// Its base URL; requests go to `/a2a` below it. Untrusted: check it before calling.
        endpoint: String = required "endpoint",
        /// What it can do.
        capabilities: Vec<String> = always "capabilities",
        /// The version of the envelope it speaks.
        protocol_version: String = always "protocol_version" | "protocolVersion",
        /// Data of the agent's own.
        metadata: Option<Object> = optional "metadata",
    }
}

record! {
    /// The answer to `GET /discover` and `GET /agents`.
    #[derive(Default)]
    pub struct Agents {
        /// The agents that were found.
        agents: Vec<Registration> = always "agents",
    }
}

record! {
    /// The answer to `GET /a2a/capabilities`.
    #[derive(Default)]
    pub struct Capabilities {
        /// Who answers.
        agent_id: String = always "agent_id" | "agentId",
        /// The version of the envelope it speaks.
        protocol_version: String = always "protocol_version" | "protocolVersion",
        /// What it can do: the ids of its skills.
        capabilities: Vec<String> = always "capabilities",
    }
}

record! {
    /// The answer to `GET /a2a/health`.
    #[derive(Default)]
    pub struct Health {
        /// `ok`, or a word about what is wrong.
        status: String = required "status",
        /// Who answers.
        agent_id: String = always "agent_id" | "agentId",
        /// The version of the envelope it speaks.
        protocol_version: String = always "protocol_version" | "protocolVersion",
    }
}

record! {
    /// Who may ask for a capability (O-13).
    #[derive(Default)]
    pub struct AccessRule {
        /// The capability.
        capability: String = required "capability",
        /// Ids of the agents that may ask for it.
        allowed_agents: Vec<String> = always "allowed_agents" | "allowedAgents",
    }
}
