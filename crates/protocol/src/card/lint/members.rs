//! The card's own members, its interfaces, capabilities and skills.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    MAX_DESCRIPTION_CHARS, MAX_SKILLS, Report, Rule,
    hidden::{self, inert},
    url::{Host, Url, is_absolute_uri},
};
use crate::{
    card::{AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Binding},
    version::Version,
};

/// Names that would shadow a path of A2A when used as a tenant (A2A digest §19).
const RESERVED_TENANTS: [&str; 6] =
    ["tasks", "message:send", "message:stream", "extendedAgentCard", ".well-known", "v1"];

/// The media type of a stream, which is no media type of an answer.
const EVENT_STREAM: &str = "text/event-stream";

pub(super) fn check(card: &AgentCard, report: &mut Report) {
    report.require(Rule::NoName, "name", &card.name);
    hidden::check(report, "name", &card.name);
    report.require(Rule::NoDescription, "description", &card.description);
    description(report, "description", &card.description);
    interfaces(&card.supported_interfaces, report);
    provider(card, report);
    report.require(Rule::NoVersion, "version", &card.version);
    hidden::check(report, "version", &card.version);
    links(card, report);
    capabilities(card, report);
    modes(card, report);
    skills(&card.skills, report);
}

fn description(report: &mut Report, field: impl Into<String>, text: &str) {
    let field = field.into();
    // Counting stops at the limit, however long the text is.
    if text.chars().nth(MAX_DESCRIPTION_CHARS).is_some() {
        report.add(
            Rule::TextTooLong,
            field.clone(),
            format!("it has more than {MAX_DESCRIPTION_CHARS} characters"),
        );
    }
    hidden::check(report, field, text);
}

fn interfaces(interfaces: &[AgentInterface], report: &mut Report) {
    if interfaces.is_empty() {
        report.add(Rule::NoInterface, "supportedInterfaces", "it is missing or empty");
    }
    let mut seen = BTreeMap::new();
    for (index, interface) in interfaces.iter().enumerate() {
        let path = format!("supportedInterfaces[{index}]");
        url(interface, &path, report);
        binding(interface, &path, report);
        version(interface, &path, report);
        let tenant = interface.tenant.as_ref().map(crate::ids::Tenant::as_str);
        if let Some(tenant) = tenant.filter(|tenant| RESERVED_TENANTS.contains(tenant)) {
            report.add(
                Rule::ReservedTenant,
                format!("{path}.tenant"),
                format!("`{tenant}` is a path of A2A"),
            );
        }
        let identity = (
            interface.url.as_str(),
            interface.protocol_binding.as_str(),
            interface.protocol_version.as_str(),
            tenant,
        );
        if let Some(first) = seen.insert(identity, index) {
            report.add(
                Rule::DuplicateInterface,
                path,
                format!("it is the same as supportedInterfaces[{first}]"),
            );
        }
    }
}

fn url(interface: &AgentInterface, path: &str, report: &mut Report) {
    let field = format!("{path}.url");
    let shown = inert(&interface.url);
    let is_grpc = interface.binding() == Binding::Grpc;
    let host = match Url::parse(&interface.url) {
        Some(url) => {
            if url.has_user {
                report.add(
                    Rule::UrlCredentials,
                    field.clone(),
                    "it has a user name before the host",
                );
            }
            if is_grpc {
                report.add(
                    Rule::GrpcScheme,
                    field.clone(),
                    format!("`{shown}` starts with a scheme"),
                );
            } else if !is_custom(interface) && !url.is_private() {
                report.add(
                    Rule::NotHttps,
                    field.clone(),
                    format!("`{shown}` is neither https nor on the own machine"),
                );
            }
            url.host
        }
        None if is_grpc => {
            let Some(host) = Host::parse(&interface.url).filter(|host| host.port.is_some()) else {
                report.add(
                    Rule::BadGrpcTarget,
                    field,
                    format!("`{shown}` is not a host and a port"),
                );
                return;
            };
            host
        }
        None => {
            report.add(Rule::BadUrl, field, format!("`{shown}` is not an absolute URL"));
            return;
        }
    };
    if host.is_unspecified() {
        report.add(Rule::UnspecifiedAddress, field, format!("`{shown}` leads nowhere"));
    }
}

/// Tells whether a URI names the binding: then its URLs are its own affair.
fn is_custom(interface: &AgentInterface) -> bool {
    matches!(interface.binding(), Binding::Other(name) if is_absolute_uri(&name))
}

fn binding(interface: &AgentInterface, path: &str, report: &mut Report) {
    let field = format!("{path}.protocolBinding");
    let text = interface.protocol_binding.as_str();
    match interface.binding() {
        _ if text.trim().is_empty() => report.require(Rule::NoBinding, field, text),
        Binding::Other(_) if is_custom(interface) => {}
        Binding::Other(_) => report.add(
            Rule::UnknownBinding,
            field,
            format!("`{}` is no binding of A2A and no URI", inert(text)),
        ),
        known if known.as_str() == text => {}
        known => report.add(
            Rule::BindingSpelling,
            field,
            format!("`{}` should read `{known}`", inert(text)),
        ),
    }
}

fn version(interface: &AgentInterface, path: &str, report: &mut Report) {
    let field = format!("{path}.protocolVersion");
    let text = interface.protocol_version.as_str();
    match Version::parse(text) {
        Some(version) if version.to_string() == text => {}
        Some(version) => report.add(
            Rule::PatchVersion,
            field,
            format!("`{}` should read `{version}`", inert(text)),
        ),
        None if text.trim().is_empty() => report.require(Rule::BadProtocolVersion, field, text),
        None => report.add(
            Rule::BadProtocolVersion,
            field,
            format!("`{}` is not a version", inert(text)),
        ),
    }
}

fn provider(card: &AgentCard, report: &mut Report) {
    let Some(provider) = &card.provider else { return };
    for (field, text) in
        [("provider.organization", &provider.organization), ("provider.url", &provider.url)]
    {
        report.require(Rule::IncompleteProvider, field, text);
    }
    hidden::check(report, "provider.organization", &provider.organization);
}

fn links(card: &AgentCard, report: &mut Report) {
    let links = [
        ("provider.url", card.provider.as_ref().map(|provider| &provider.url)),
        ("documentationUrl", card.documentation_url.as_ref()),
        ("iconUrl", card.icon_url.as_ref()),
    ];
    for (field, link) in links {
        let Some(link) = link.filter(|link| !link.is_empty()) else { continue };
        match Url::parse(link).filter(Url::is_http) {
            None => report.add(
                Rule::BadLink,
                field,
                format!("`{}` is not an absolute http or https URL", inert(link)),
            ),
            Some(url) if url.has_user => {
                report.add(Rule::UrlCredentials, field, "it has a user name before the host");
            }
            Some(_) => {}
        }
    }
}

fn capabilities(card: &AgentCard, report: &mut Report) {
    let AgentCapabilities { streaming, extensions, extended_agent_card, .. } = &card.capabilities;
    let streams = card.default_output_modes.iter().chain(&card.default_input_modes);
    let streams = streams.chain(card.skills.iter().flat_map(|skill| &skill.output_modes));
    if *streaming != Some(true) && streams.clone().any(|mode| essence(mode) == EVENT_STREAM) {
        report.add(
            Rule::StreamingContradiction,
            "capabilities.streaming",
            format!("it is not set, but `{EVENT_STREAM}` is listed"),
        );
    }
    if *extended_agent_card == Some(true) && card.security_schemes.is_empty() {
        report.add(
            Rule::ExtendedCardContradiction,
            "capabilities.extendedAgentCard",
            "it is set, but there is no security scheme",
        );
    }
    let mut seen = BTreeSet::new();
    for (index, extension) in extensions.iter().enumerate() {
        let path = format!("capabilities.extensions[{index}]");
        let uri = extension.uri.as_str();
        if uri.is_empty() {
            report.require(Rule::NoExtensionUri, format!("{path}.uri"), uri);
        } else if !is_absolute_uri(uri) {
            report.add(
                Rule::BadExtensionUri,
                format!("{path}.uri"),
                format!("`{}` is not an absolute URI", inert(uri)),
            );
        } else if !seen.insert(uri) {
            report.add(Rule::DuplicateExtension, format!("{path}.uri"), "it is listed before");
        }
        description(report, format!("{path}.description"), &extension.description);
    }
}

fn modes(card: &AgentCard, report: &mut Report) {
    for (rule, field, modes) in [
        (Rule::NoInputModes, "defaultInputModes", &card.default_input_modes),
        (Rule::NoOutputModes, "defaultOutputModes", &card.default_output_modes),
    ] {
        if modes.is_empty() {
            report.add(rule, field, "it is missing or empty");
        }
        media_types(report, field, modes);
    }
}

fn media_types(report: &mut Report, field: &str, modes: &[String]) {
    for (index, mode) in modes.iter().enumerate() {
        if !is_media_type(mode) {
            report.add(
                Rule::BadMediaType,
                format!("{field}[{index}]"),
                format!("`{}` is not a media type", inert(mode)),
            );
        }
    }
}

/// Returns a media type without its parameters.
fn essence(mode: &str) -> String {
    mode.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Tells whether a text reads `type/subtype`, with or without parameters (RFC 9110 §8.3.1).
fn is_media_type(text: &str) -> bool {
    let is_token = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    let mut parts = text.split(';').map(str::trim);
    let names = parts.next().and_then(|essence| essence.split_once('/'));
    names.is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
        && parts.all(|parameter| parameter.split_once('=').is_some_and(|(name, _)| is_token(name)))
}

fn skills(skills: &[AgentSkill], report: &mut Report) {
    if skills.is_empty() {
        report.add(Rule::NoSkills, "skills", "it is missing or empty");
    }
    if skills.len() > MAX_SKILLS {
        report.add(Rule::TooManySkills, "skills", format!("there are {}", skills.len()));
    }
    let mut seen = BTreeMap::new();
    for (index, skill) in skills.iter().enumerate().take(MAX_SKILLS) {
        let path = format!("skills[{index}]");
        report.require(Rule::NoSkillId, format!("{path}.id"), &skill.id);
        report.require(Rule::NoSkillName, format!("{path}.name"), &skill.name);
        report.require(Rule::NoSkillDescription, format!("{path}.description"), &skill.description);
        if skill.tags.iter().all(|tag| tag.trim().is_empty()) {
            report.add(Rule::NoSkillTags, format!("{path}.tags"), "it is missing or empty");
        }
        if let Some(first) = seen.insert(&skill.id, index).filter(|_| !skill.id.is_empty()) {
            report.add(
                Rule::DuplicateSkillId,
                format!("{path}.id"),
                format!("`{}` is the identifier of skills[{first}]", inert(&skill.id)),
            );
        }
        hidden::check(report, format!("{path}.id"), &skill.id);
        hidden::check(report, format!("{path}.name"), &skill.name);
        description(report, format!("{path}.description"), &skill.description);
        for (name, texts) in [("tags", &skill.tags), ("examples", &skill.examples)] {
            for (index, text) in texts.iter().enumerate() {
                hidden::check(report, format!("{path}.{name}[{index}]"), text);
            }
        }
        media_types(report, &format!("{path}.inputModes"), &skill.input_modes);
        media_types(report, &format!("{path}.outputModes"), &skill.output_modes);
    }
}
