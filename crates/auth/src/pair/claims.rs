//! What a pair token says.

use nuncio_protocol::{
    ids::{AgentId, Organisation},
    json::{self, FromJson, Kind, Reader},
    operation::Operation,
};

use super::{MAX_CHAIN, TYPE};
use crate::{
    jwt::{
        short,
        token::{Header, certificate, decode, read, seconds, texts},
    },
    refusal::Why,
    rules::{Grant, Operations, Skills},
};

/// Stands for all operations, or all skills.
pub(super) const ALL: &str = "*";

/// The claims of a pair token, complete and in their types. Nothing is verified yet.
#[derive(Debug)]
pub(super) struct Claims {
    pub(super) issuer: String,
    pub(super) caller: AgentId,
    pub(super) audiences: Vec<String>,
    pub(super) organisation: Organisation,
    pub(super) grant: Grant,
    pub(super) epoch: u64,
    pub(super) issued: i64,
    pub(super) expires: i64,
    pub(super) id: String,
    pub(super) is_bound: bool,
    pub(super) bound_certificate: Option<String>,
    pub(super) chain: Vec<AgentId>,
}

/// Tells whether a token says of itself that it is a pair token.
pub(crate) fn is_pair(token: &str) -> bool {
    let header = token.split_once('.').and_then(|(header, _)| decode(header).ok());
    let header = header.and_then(|bytes| Header::parse(&bytes).ok());
    header.and_then(|header| header.typ).is_some_and(|typ| short(&typ) == TYPE)
}

impl Claims {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Why> {
        let (mut issuer, mut caller, mut organisation, mut id) = (None, None, None, None);
        let (mut begins, mut expires, mut epoch) = (None, None, None);
        let (mut operations, mut skills) = (None, None);
        let mut audiences = Vec::new();
        let (mut is_bound, mut bound_certificate) = (false, None);
        let mut chain = Vec::new();
        read(bytes, |reader, key| {
            match &*key {
                "iss" => issuer = Some(reader.string()?.into_owned()),
                "sub" => caller = Some(AgentId::read(reader)?),
                "aud" => audiences = texts(reader)?,
                "org" => organisation = Some(Organisation::read(reader)?),
                "ops" => operations = Some(read_operations(reader)?),
                "skills" => skills = Some(read_skills(reader)?),
                "epoch" => epoch = Some(read_epoch(reader)?),
                "iat" => begins = Some(seconds(reader)?),
                "exp" => expires = Some(seconds(reader)?),
                "jti" => id = Some(reader.string()?.into_owned()),
                "cnf" => {
                    is_bound = true;
                    bound_certificate = certificate(reader)?;
                }
                "chain" => chain = Vec::read(reader)?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        if chain.len() > MAX_CHAIN {
            return Err(Why::Chain);
        }
        Ok(Self {
            issuer: issuer.ok_or(Why::Issuer)?,
            caller: caller.ok_or(Why::Caller)?,
            audiences,
            organisation: organisation.ok_or(Why::Organisation)?,
            grant: Grant {
                operations: operations.ok_or(Why::Grant)?,
                skills: skills.ok_or(Why::Grant)?,
            },
            epoch: epoch.ok_or(Why::Epoch)?,
            issued: begins.ok_or(Why::Lifetime)?,
            expires: expires.ok_or(Why::NoExpiry)?,
            id: id.ok_or(Why::Grant)?,
            is_bound,
            bound_certificate,
            chain,
        })
    }
}

/// Reads names of operations. One that is not known is passed over: it grants nothing here.
fn read_operations(reader: &mut Reader<'_>) -> Result<Operations, json::Error> {
    if is_all(reader)? {
        return Ok(Operations::ALL);
    }
    let names = Vec::<String>::read(reader)?;
    Ok(names.iter().filter_map(|name| Operation::from_name(name)).collect())
}

fn read_skills(reader: &mut Reader<'_>) -> Result<Skills, json::Error> {
    if is_all(reader)? {
        return Ok(Skills::Any);
    }
    Ok(Skills::Only(Vec::<String>::read(reader)?.into()))
}

/// Consumes `"*"` if a text comes next; no other text will do.
fn is_all(reader: &mut Reader<'_>) -> Result<bool, json::Error> {
    if reader.peek()? != Kind::String {
        return Ok(false);
    }
    if reader.string()? == ALL {
        Ok(true)
    } else {
        Err(json::Error::shape("expected `*` or a list"))
    }
}

pub(super) fn read_epoch(reader: &mut Reader<'_>) -> Result<u64, json::Error> {
    let number = reader.number()?;
    number.parse().map_err(|_| json::Error::shape("expected a whole number, not negative"))
}
