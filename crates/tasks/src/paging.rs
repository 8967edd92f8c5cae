//! Page tokens: opaque to clients, useless anywhere else than where they were made.

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use nuncio_protocol::ids::TaskId;

use crate::{
    scope::Scope,
    store::{Filter, Position},
};

const TAG_BYTES: usize = 16;

/// Writes down where a page ended.
pub(crate) fn write(position: &Position, scopes: &[Scope], filter: &Filter) -> String {
    let mut bytes = tag(scopes, filter).to_vec();
    bytes.extend(position.updated.to_be_bytes());
    bytes.extend(position.id.as_str().as_bytes());
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads where a page ended. `None` if the token was made for another list.
pub(crate) fn read(token: &str, scopes: &[Scope], filter: &Filter) -> Option<Position> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).ok()?;
    let (found, rest) = bytes.split_at_checked(TAG_BYTES)?;
    let (updated, id) = rest.split_first_chunk::<8>()?;
    if found != tag(scopes, filter) {
        return None;
    }
    let id = TaskId::parse(std::str::from_utf8(id).ok()?).ok()?;
    Some(Position { updated: i64::from_be_bytes(*updated), id })
}

/// Two lists have the same tag only if they are the same list.
fn tag(scopes: &[Scope], filter: &Filter) -> [u8; TAG_BYTES] {
    let hash = digest(&SHA256, format!("{scopes:?} {filter:?}").as_bytes());
    let mut tag = [0; TAG_BYTES];
    for (to, from) in tag.iter_mut().zip(hash.as_ref()) {
        *to = *from;
    }
    tag
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Name;

    #[test]
    fn a_token_is_good_for_its_own_list_only() {
        let scope = [Scope::tenant(Name::parse("acme").unwrap())];
        let other = [Scope::tenant(Name::parse("other").unwrap())];
        let filter = Filter::default();
        let position = Position { updated: -7, id: TaskId::parse("t1").unwrap() };
        let token = write(&position, &scope, &filter);
        assert_eq!(read(&token, &scope, &filter), Some(position));
        assert_eq!(read(&token, &other, &filter), None);
        assert_eq!(read(&token, &[scope.clone(), other].concat(), &filter), None);
        assert_eq!(read("", &scope, &filter), None);
        assert_eq!(read("?", &scope, &filter), None);
        assert_eq!(read(&token[..24], &scope, &filter), None);
    }
}
