//! Security schemes and the requirements that name them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    MAX_SKILLS, Report, Rule,
    hidden::{self, inert},
    url::Url,
};
use crate::card::{AgentCard, OAuthFlows, SecurityRequirement, SecurityScheme};

pub(super) fn check(card: &AgentCard, report: &mut Report) {
    for (name, scheme) in &card.security_schemes {
        check_scheme(&format!("securitySchemes.{}", inert(name)), name, scheme, report);
    }
    let mut used = BTreeSet::new();
    let mut requirements = |field: String, list: &[SecurityRequirement]| {
        for (index, requirement) in list.iter().enumerate() {
            let path = format!("{field}[{index}]");
            if requirement.schemes.is_empty() {
                report.add(Rule::EmptyRequirement, path.clone(), "it asks for nothing");
            }
            for (name, scopes) in &requirement.schemes {
                used.insert(name.clone());
                let field = format!("{path}.schemes.{}", inert(name));
                match card.security_schemes.get(name) {
                    None => report.add(Rule::UndeclaredScheme, field, "no such scheme is declared"),
                    Some(scheme) => check_scopes(&field, scheme, &scopes.list, report),
                }
            }
        }
    };
    requirements("securityRequirements".to_owned(), &card.security_requirements);
    for (index, skill) in card.skills.iter().enumerate().take(MAX_SKILLS) {
        requirements(format!("skills[{index}].securityRequirements"), &skill.security_requirements);
    }
    for name in card.security_schemes.keys().filter(|name| !used.contains(*name)) {
        report.add(
            Rule::UnusedScheme,
            format!("securitySchemes.{}", inert(name)),
            "no requirement names it",
        );
    }
}

fn check_scheme(path: &str, name: &str, scheme: &SecurityScheme, report: &mut Report) {
    hidden::check(report, path, name);
    let description = match scheme {
        SecurityScheme::ApiKey(key) => {
            if !["header", "query", "cookie"].contains(&key.location.as_str()) {
                report.add(
                    Rule::BadApiKeyLocation,
                    format!("{path}.location"),
                    format!("`{}` is no place for a key", inert(&key.location)),
                );
            }
            report.require(Rule::NoApiKeyName, format!("{path}.name"), &key.name);
            &key.description
        }
        SecurityScheme::Http(http) => {
            report.require(Rule::NoHttpScheme, format!("{path}.scheme"), &http.scheme);
            &http.description
        }
        SecurityScheme::OAuth2(oauth) => {
            check_flow(&format!("{path}.flows"), &oauth.flows, report);
            let metadata = &oauth.oauth2_metadata_url;
            optional_url(&format!("{path}.oauth2MetadataUrl"), metadata, report);
            &oauth.description
        }
        SecurityScheme::OpenIdConnect(open_id) => {
            let url = &open_id.open_id_connect_url;
            required_url(&format!("{path}.openIdConnectUrl"), url, report);
            &open_id.description
        }
        SecurityScheme::MutualTls(tls) => &tls.description,
    };
    hidden::check(report, format!("{path}.description"), description);
}

fn check_flow(path: &str, flow: &OAuthFlows, report: &mut Report) {
    let (name, required, refresh): (_, &[(&str, &String)], _) = match flow {
        OAuthFlows::AuthorizationCode(flow) => (
            "authorizationCode",
            &[("authorizationUrl", &flow.authorization_url), ("tokenUrl", &flow.token_url)],
            &flow.refresh_url,
        ),
        OAuthFlows::ClientCredentials(flow) => {
            ("clientCredentials", &[("tokenUrl", &flow.token_url)], &flow.refresh_url)
        }
        OAuthFlows::Implicit(flow) => {
            ("implicit", &[("authorizationUrl", &flow.authorization_url)], &flow.refresh_url)
        }
        OAuthFlows::Password(flow) => {
            ("password", &[("tokenUrl", &flow.token_url)], &flow.refresh_url)
        }
        OAuthFlows::DeviceCode(flow) => (
            "deviceCode",
            &[
                ("deviceAuthorizationUrl", &flow.device_authorization_url),
                ("tokenUrl", &flow.token_url),
            ],
            &flow.refresh_url,
        ),
    };
    let path = format!("{path}.{name}");
    if matches!(flow, OAuthFlows::Implicit(_) | OAuthFlows::Password(_)) {
        report.add(Rule::DeprecatedFlow, path.clone(), format!("`{name}` is deprecated"));
    }
    for (field, url) in required {
        required_url(&format!("{path}.{field}"), url, report);
    }
    optional_url(&format!("{path}.refreshUrl"), refresh, report);
}

fn required_url(field: &str, url: &str, report: &mut Report) {
    report.require(Rule::NoAuthUrl, field, url);
    optional_url(field, url, report);
}

fn optional_url(field: &str, url: &str, report: &mut Report) {
    if !url.trim().is_empty() && !Url::parse(url).is_some_and(|url| url.is_private()) {
        report.add(Rule::AuthUrlNotHttps, field, format!("`{}` is not https", inert(url)));
    }
}

fn check_scopes(field: &str, scheme: &SecurityScheme, scopes: &[String], report: &mut Report) {
    let SecurityScheme::OAuth2(oauth) = scheme else { return };
    let declared: &BTreeMap<String, String> = match &oauth.flows {
        OAuthFlows::AuthorizationCode(flow) => &flow.scopes,
        OAuthFlows::ClientCredentials(flow) => &flow.scopes,
        OAuthFlows::Implicit(flow) => &flow.scopes,
        OAuthFlows::Password(flow) => &flow.scopes,
        OAuthFlows::DeviceCode(flow) => &flow.scopes,
    };
    for scope in scopes.iter().filter(|scope| !declared.contains_key(*scope)) {
        report.add(
            Rule::UndeclaredScope,
            field,
            format!("the flow does not list `{}`", inert(scope)),
        );
    }
}
