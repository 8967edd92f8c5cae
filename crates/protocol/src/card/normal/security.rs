//! Security schemes and requirements of any form.

use std::collections::BTreeMap;

use super::once;
use crate::{
    card::{
        ApiKeySecurityScheme, AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow,
        DeviceCodeOAuthFlow, HttpAuthSecurityScheme, ImplicitOAuthFlow, MutualTlsSecurityScheme,
        OAuth2SecurityScheme, OAuthFlows, OpenIdConnectSecurityScheme, PasswordOAuthFlow,
        SecurityRequirement, SecurityScheme, StringList,
    },
    json::{Error, FromJson, Kind, Reader, read_value},
};

/// A requirement: `{"schemes":{"x":{"list":["s"]}}}` or, in 0.3, `{"x":["s"]}`.
pub(super) struct AnyRequirement(SecurityRequirement);

impl FromJson for AnyRequirement {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut requirement = SecurityRequirement::default();
        let mut wrapped = false;
        let mut odd = None;
        reader.members(|reader, key| {
            let kind = reader.peek()?;
            if key == "schemes" && kind == Kind::Object {
                wrapped = true;
                return reader.members(|reader, key| {
                    let scopes = read_value(reader)?.unwrap_or_default();
                    requirement.schemes.insert(key.into_owned(), scopes);
                    Ok(())
                });
            }
            if !matches!(kind, Kind::Array | Kind::Null) {
                odd.get_or_insert_with(|| key.into_owned());
                return reader.skip();
            }
            let list = read_value(reader)?.unwrap_or_default();
            requirement.schemes.insert(key.into_owned(), StringList { list });
            Ok(())
        })?;
        // Next to `schemes` it is a member of some later version. Alone it would be a scheme,
        // and to lose a scheme would make the agent look open.
        if let Some(key) = odd.filter(|_| !wrapped) {
            return Err(Error::shape("expected an array of scopes").inside(&key));
        }
        Ok(Self(requirement))
    }
}

/// A scheme of any form. More than one comes of it if it has several OAuth flows, the
/// preferred one first; none if its type is unknown to A2A 1.0.
pub(super) struct AnyScheme(Vec<SecurityScheme>);

impl FromJson for AnyScheme {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut flat = FlatScheme::default();
        let mut nested: Option<(SchemeType, FlatScheme)> = None;
        reader.members(|reader, key| {
            let Some(scheme_type) = SchemeType::from_member(&key) else {
                return flat.read_member(reader, &key);
            };
            if let Some(scheme) = read_value(reader)?
                && nested.replace((scheme_type, scheme)).is_some()
            {
                return Err(Error::shape("the scheme has two types"));
            }
            Ok(())
        })?;
        let (scheme_type, scheme) = match nested {
            Some((scheme_type, scheme)) => (Some(scheme_type), scheme),
            None => (flat.scheme_type.as_deref().and_then(SchemeType::from_name), flat),
        };
        Ok(Self(
            scheme_type.map(|scheme_type| scheme.into_schemes(scheme_type)).unwrap_or_default(),
        ))
    }
}

#[derive(Clone, Copy)]
enum SchemeType {
    ApiKey,
    Http,
    OAuth2,
    OpenIdConnect,
    MutualTls,
}

impl SchemeType {
    /// Finds the type by the member that 1.0 wraps a scheme in.
    fn from_member(key: &str) -> Option<Self> {
        match key {
            "apiKeySecurityScheme" | "api_key_security_scheme" => Some(Self::ApiKey),
            "httpAuthSecurityScheme" | "http_auth_security_scheme" => Some(Self::Http),
            "oauth2SecurityScheme" | "oauth2_security_scheme" => Some(Self::OAuth2),
            "openIdConnectSecurityScheme" | "open_id_connect_security_scheme" => {
                Some(Self::OpenIdConnect)
            }
            "mtlsSecurityScheme" | "mtls_security_scheme" => Some(Self::MutualTls),
            _ => None,
        }
    }

    /// Finds the type by the `type` member of 0.3.
    fn from_name(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "apikey" | "api_key" => Some(Self::ApiKey),
            "http" => Some(Self::Http),
            "oauth2" => Some(Self::OAuth2),
            "openidconnect" | "open_id_connect" => Some(Self::OpenIdConnect),
            "mutualtls" | "mutual_tls" | "mtls" => Some(Self::MutualTls),
            _ => None,
        }
    }
}

/// The members of every type of scheme, side by side as in 0.3.
#[derive(Default)]
struct FlatScheme {
    scheme_type: Option<String>,
    description: Option<String>,
    location: Option<String>,
    name: Option<String>,
    scheme: Option<String>,
    bearer_format: Option<String>,
    flows: Option<AnyFlows>,
    oauth2_metadata_url: Option<String>,
    open_id_connect_url: Option<String>,
}

impl FromJson for FlatScheme {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut scheme = Self::default();
        reader.members(|reader, key| scheme.read_member(reader, &key))?;
        Ok(scheme)
    }
}

impl FlatScheme {
    fn read_member(&mut self, reader: &mut Reader<'_>, key: &str) -> Result<(), Error> {
        match key {
            "type" => once(&mut self.scheme_type, reader),
            "description" => once(&mut self.description, reader),
            "in" | "location" => once(&mut self.location, reader),
            "name" => once(&mut self.name, reader),
            "scheme" => once(&mut self.scheme, reader),
            "bearerFormat" | "bearer_format" => once(&mut self.bearer_format, reader),
            "flows" => once(&mut self.flows, reader),
            "oauth2MetadataUrl" | "oauth2_metadata_url" => {
                once(&mut self.oauth2_metadata_url, reader)
            }
            "openIdConnectUrl" | "open_id_connect_url" => {
                once(&mut self.open_id_connect_url, reader)
            }
            _ => reader.skip(),
        }
    }

    fn into_schemes(self, scheme_type: SchemeType) -> Vec<SecurityScheme> {
        let description = self.description.unwrap_or_default();
        let scheme = match scheme_type {
            SchemeType::ApiKey => SecurityScheme::ApiKey(ApiKeySecurityScheme {
                description,
                location: self.location.unwrap_or_default(),
                name: self.name.unwrap_or_default(),
            }),
            SchemeType::Http => SecurityScheme::Http(HttpAuthSecurityScheme {
                description,
                scheme: self.scheme.unwrap_or_default(),
                bearer_format: self.bearer_format.unwrap_or_default(),
            }),
            SchemeType::OAuth2 => {
                let metadata = self.oauth2_metadata_url.unwrap_or_default();
                let flows = self.flows.unwrap_or_default().in_order();
                return flows
                    .map(|flows| {
                        SecurityScheme::OAuth2(OAuth2SecurityScheme {
                            description: description.clone(),
                            flows,
                            oauth2_metadata_url: metadata.clone(),
                        })
                    })
                    .collect();
            }
            SchemeType::OpenIdConnect => {
                SecurityScheme::OpenIdConnect(OpenIdConnectSecurityScheme {
                    description,
                    open_id_connect_url: self.open_id_connect_url.unwrap_or_default(),
                })
            }
            SchemeType::MutualTls => {
                SecurityScheme::MutualTls(MutualTlsSecurityScheme { description })
            }
        };
        vec![scheme]
    }
}

/// Any number of OAuth flows, as 0.3 allows.
#[derive(Default)]
struct AnyFlows {
    authorization_code: Option<AuthorizationCodeOAuthFlow>,
    client_credentials: Option<ClientCredentialsOAuthFlow>,
    implicit: Option<ImplicitOAuthFlow>,
    password: Option<PasswordOAuthFlow>,
    device_code: Option<DeviceCodeOAuthFlow>,
}

impl FromJson for AnyFlows {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut flows = Self::default();
        reader.members(|reader, key| match &*key {
            "authorizationCode" | "authorization_code" => {
                once(&mut flows.authorization_code, reader)
            }
            "clientCredentials" | "client_credentials" => {
                once(&mut flows.client_credentials, reader)
            }
            "implicit" => once(&mut flows.implicit, reader),
            "password" => once(&mut flows.password, reader),
            "deviceCode" | "device_code" => once(&mut flows.device_code, reader),
            _ => reader.skip(),
        })?;
        Ok(flows)
    }
}

impl AnyFlows {
    /// Returns the flows, the preferred one first (A2A compatibility digest §7).
    fn in_order(self) -> impl Iterator<Item = OAuthFlows> {
        [
            self.authorization_code.map(OAuthFlows::AuthorizationCode),
            self.client_credentials.map(OAuthFlows::ClientCredentials),
            self.implicit.map(OAuthFlows::Implicit),
            self.password.map(OAuthFlows::Password),
            self.device_code.map(OAuthFlows::DeviceCode),
        ]
        .into_iter()
        .flatten()
    }
}

/// The new names of schemes that had several flows, by their old name.
#[derive(Default)]
pub(super) struct Splits(BTreeMap<String, Vec<String>>);

/// Gives every scheme one flow: the preferred one keeps the name, the others get their own.
pub(super) fn split(
    schemes: BTreeMap<String, AnyScheme>,
) -> (BTreeMap<String, SecurityScheme>, Splits) {
    let mut single = BTreeMap::new();
    let mut further = Vec::new();
    for (name, AnyScheme(flows)) in schemes {
        let mut flows = flows.into_iter();
        let Some(first) = flows.next() else { continue };
        further.extend(flows.map(|flow| (name.clone(), flow)));
        single.insert(name, first);
    }
    let mut splits = Splits::default();
    for (name, scheme) in further {
        let new_name = free_name(&single, &format!("{name}-{}", flow_name(&scheme)));
        splits.0.entry(name).or_default().push(new_name.clone());
        single.insert(new_name, scheme);
    }
    (single, splits)
}

fn free_name(taken: &BTreeMap<String, SecurityScheme>, wanted: &str) -> String {
    let mut name = wanted.to_owned();
    let mut number = 2;
    while taken.contains_key(&name) {
        name = format!("{wanted}-{number}");
        number += 1;
    }
    name
}

fn flow_name(scheme: &SecurityScheme) -> &'static str {
    let SecurityScheme::OAuth2(oauth) = scheme else { return "other" };
    match oauth.flows {
        OAuthFlows::AuthorizationCode(_) => "authorizationCode",
        OAuthFlows::ClientCredentials(_) => "clientCredentials",
        OAuthFlows::Implicit(_) => "implicit",
        OAuthFlows::Password(_) => "password",
        OAuthFlows::DeviceCode(_) => "deviceCode",
    }
}

impl Splits {
    /// Offers the further flows of a scheme as alternatives to it.
    ///
    /// A requirement that names several split schemes keeps the preferred flow of each: all
    /// their combinations would be a hostile card's way to fill our memory.
    pub(super) fn apply(&self, requirements: Vec<AnyRequirement>) -> Vec<SecurityRequirement> {
        let mut alternatives = Vec::with_capacity(requirements.len());
        for AnyRequirement(requirement) in requirements {
            let mut named = requirement.schemes.keys().filter(|name| self.0.contains_key(*name));
            let only = named.next().filter(|_| named.next().is_none()).cloned();
            alternatives.push(requirement);
            let Some(name) = only else { continue };
            let last = alternatives.len() - 1;
            for new_name in &self.0[&name] {
                let mut alternative = alternatives[last].clone();
                if let Some(scopes) = alternative.schemes.remove(&name) {
                    alternative.schemes.insert(new_name.clone(), scopes);
                }
                alternatives.push(alternative);
            }
        }
        alternatives
    }
}
