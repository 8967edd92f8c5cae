//! What to try when an agent does not speak as its card says, and remembering what worked.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use nuncio_protocol::{
    dialect::WireForm,
    error::{Error, ErrorKind},
    version::Version,
};

use crate::Interface;

/// Returns the next interface to try after the last one failed; `None` if the error would be
/// the same everywhere, or nothing is left.
///
/// Another form is tried only after an error that says the form was wrong, so nothing can
/// have been done: an unknown version or an unknown method. Other forms at the same place
/// come first, those that the peer says it speaks before the rest, then what else the card
/// offers.
pub fn next_after(error: &Error, tried: &[Interface], offered: &[Interface]) -> Option<Interface> {
    let last = tried.last()?;
    if !matches!(error.kind(), ErrorKind::VersionNotSupported | ErrorKind::MethodNotFound) {
        return None;
    }
    let spoken = error.metadata().get("supportedVersions").map(String::as_str);
    let spoken: Vec<Version> =
        spoken.unwrap_or_default().split(',').filter_map(Version::parse).collect();
    let mut forms = kin(last.form).to_vec();
    forms.sort_by_key(|form| !spoken.contains(&version(*form)));
    let here = forms.into_iter().map(|form| Interface { form, ..last.clone() });
    let mut all = here.chain(offered.iter().cloned());
    all.find(|one| !tried.contains(one))
}

/// Returns the forms of other versions on the same binding, the likeliest first.
const fn kin(form: WireForm) -> &'static [WireForm] {
    match form {
        WireForm::V1 => &[WireForm::V03, WireForm::V02],
        WireForm::V03 => &[WireForm::V1, WireForm::V02],
        WireForm::V02 => &[WireForm::V03, WireForm::V1],
        WireForm::V1Http => &[WireForm::V03Http],
        WireForm::V03Http => &[WireForm::V1Http],
        WireForm::V1Grpc => &[WireForm::V03Grpc],
        WireForm::V03Grpc => &[WireForm::V1Grpc],
        // A dialect is spoken because somebody said so; guessing would say otherwise.
        _ => &[],
    }
}

const fn version(form: WireForm) -> Version {
    match form {
        WireForm::V1 | WireForm::V1Http | WireForm::V1Grpc => Version::V1_0,
        WireForm::V02 => Version::V0_2,
        _ => Version::V0_3,
    }
}

/// What really worked, for agents that do not speak as their cards say.
///
/// Bounded: when it is full, it forgets everything, which costs one more probe each.
#[derive(Debug)]
pub struct Remembered {
    most: usize,
    worked: Mutex<HashMap<(String, WireForm), Interface>>,
}

impl Default for Remembered {
    fn default() -> Self {
        Self::new(1024)
    }
}

impl Remembered {
    /// Remembers so many agents at most.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), worked: Mutex::default() }
    }

    /// Remembers that one interface worked where another was declared.
    pub fn remember(&self, declared: &Interface, worked: &Interface) {
        let mut map = self.worked();
        if declared == worked {
            map.remove(&key(declared));
            return;
        }
        if map.len() >= self.most && !map.contains_key(&key(declared)) {
            map.clear();
        }
        map.insert(key(declared), worked.clone());
    }

    /// Forgets what worked in place of an interface, because it no longer does.
    pub fn forget(&self, declared: &Interface) {
        self.worked().remove(&key(declared));
    }

    /// Returns what to call in place of a declared interface: itself, or what worked.
    ///
    /// The trust with which a URL was checked is not remembered beyond it: what worked counts
    /// only for an interface that is trusted alike.
    pub fn instead_of(&self, declared: &Interface) -> Interface {
        let map = self.worked();
        // Most agents speak as their cards say.
        if map.is_empty() {
            return declared.clone();
        }
        let worked = map.get(&key(declared)).cloned();
        drop(map);
        let same_errand = |one: &Interface| one.url.errand() == declared.url.errand();
        worked.filter(same_errand).unwrap_or_else(|| declared.clone())
    }

    fn worked(&self) -> MutexGuard<'_, HashMap<(String, WireForm), Interface>> {
        self.worked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(interface: &Interface) -> (String, WireForm) {
    (interface.url.as_str().to_owned(), interface.form)
}

#[cfg(test)]
mod tests {
    use nuncio_net::{Errand, Guard, Policy, Purpose};

    use super::*;

    fn at(path: &str, form: WireForm) -> Interface {
        let errand = Errand::caller(Purpose::Agent);
        let guard = Guard::new(Policy::default());
        let url = guard.check_url(&format!("https://a.example/{path}"), errand);
        Interface { url: url.expect("a good URL"), form, tenant: None }
    }

    fn walk(error: &Error, first: Interface, offered: &[Interface]) -> Vec<(String, WireForm)> {
        let mut tried = vec![first];
        while let Some(next) = next_after(error, &tried, offered) {
            tried.push(next);
        }
        tried.iter().map(key).collect()
    }

    #[test]
    fn a_wrong_version_is_followed_by_the_others_and_then_by_other_places() {
        let offered = [at("rpc", WireForm::V1), at("rest", WireForm::V1Http)];
        let error = Error::new(ErrorKind::MethodNotFound, "");
        let url = |path: &str| format!("https://a.example/{path}");
        assert_eq!(
            walk(&error, offered[0].clone(), &offered),
            [
                (url("rpc"), WireForm::V1),
                (url("rpc"), WireForm::V03),
                (url("rpc"), WireForm::V02),
                (url("rest"), WireForm::V1Http),
                (url("rest"), WireForm::V03Http),
            ]
        );
    }

    #[test]
    fn what_the_peer_says_it_speaks_comes_first() {
        let tried = [at("rpc", WireForm::V1)];
        let error = Error::version_not_supported("1.0", &["0.2"]);
        assert_eq!(next_after(&error, &tried, &[]), Some(at("rpc", WireForm::V02)));
    }

    #[test]
    fn other_errors_are_not_probed_around() {
        for kind in [ErrorKind::Internal, ErrorKind::InvalidParams, ErrorKind::Unauthenticated] {
            let error = Error::new(kind, "");
            assert_eq!(next_after(&error, &[at("rpc", WireForm::V1)], &[]), None, "{kind:?}");
        }
    }

    #[test]
    fn dialects_are_not_guessed() {
        let error = Error::new(ErrorKind::MethodNotFound, "");
        assert_eq!(next_after(&error, &[at("rpc", WireForm::Harbor)], &[]), None);
    }

    #[test]
    fn what_worked_is_used_until_it_no_longer_does() {
        let memory = Remembered::new(2);
        let (declared, worked) = (at("rpc", WireForm::V1), at("rpc", WireForm::V03));
        assert_eq!(memory.instead_of(&declared), declared);
        memory.remember(&declared, &worked);
        assert_eq!(memory.instead_of(&declared), worked);
        let guard = Guard::new(Policy::default());
        let errand = Errand::administrator(Purpose::Agent);
        let trusted = guard.check_url(declared.url.as_str(), errand).unwrap();
        let trusted = Interface { url: trusted, ..declared.clone() };
        assert_eq!(memory.instead_of(&trusted), trusted, "what a caller saw is not for others");
        memory.forget(&declared);
        assert_eq!(memory.instead_of(&declared), declared);
        for number in 0..10 {
            memory.remember(&at(&number.to_string(), WireForm::V1), &worked);
        }
        assert!(memory.worked().len() <= 2);
    }
}
