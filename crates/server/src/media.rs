//! Media types: what an agent takes and gives, and what a caller sends and accepts.

/// A set of media types, as cards and callers list them: `text/plain`, `image/*`, `*/*`.
#[derive(Clone, Debug, Default)]
pub(crate) struct MediaTypes(Vec<(String, String)>);

impl MediaTypes {
    pub(crate) fn new<'a>(types: impl IntoIterator<Item = &'a String>) -> Self {
        let mut all: Vec<_> = types.into_iter().filter_map(|text| split(text)).collect();
        all.sort();
        all.dedup();
        Self(all)
    }

    /// Tells whether a type is among them. Parameters such as `charset` do not count.
    pub(crate) fn takes(&self, media_type: &str) -> bool {
        match split(media_type) {
            Some(wanted) => self.0.iter().any(|known| overlap(known, &wanted)),
            // Whoever takes anything takes what has no name, too.
            None => self.0.iter().any(|(kind, sub)| kind == "*" && sub == "*"),
        }
    }

    /// Tells whether the two sets have anything in common.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.iter().any(|known| other.0.iter().any(|wanted| overlap(known, wanted)))
    }

    /// Tells whether there is none, or none that can be read.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lists them for people.
    pub(crate) fn list(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|(kind, sub)| format!("{kind}/{sub}")).collect();
        names.join(", ")
    }
}

/// Returns type and subtype, in lower case; nothing, if it is no media type.
fn split(text: &str) -> Option<(String, String)> {
    let essence = text.split(';').next().unwrap_or_default().trim();
    // Many clients and cards say `text` and mean every kind of it.
    let (kind, sub) = essence.split_once('/').unwrap_or((essence, "*"));
    (!kind.is_empty() && !sub.is_empty())
        .then(|| (kind.to_ascii_lowercase(), sub.to_ascii_lowercase()))
}

fn overlap(one: &(String, String), other: &(String, String)) -> bool {
    let part = |one: &str, other: &str| one == other || one == "*" || other == "*";
    part(&one.0, &other.0) && part(&one.1, &other.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(types: &[&str]) -> MediaTypes {
        MediaTypes::new(&types.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn case_and_parameters_do_not_matter() {
        assert!(set(&["text/plain"]).takes("Text/Plain; charset=utf-8"));
        assert!(!set(&["text/plain"]).takes("text/html"));
        assert!(!set(&["text/plain"]).takes("nonsense"));
    }

    #[test]
    fn a_bare_word_stands_for_all_its_kinds() {
        assert!(set(&["text/plain"]).takes("text"));
        assert!(set(&["text"]).takes("text/html"));
        assert!(set(&["text"]).meets(&set(&["Text"])));
        assert!(set(&["text/plain"]).meets(&set(&["file", "text"])));
        assert!(!set(&["text"]).takes("image/png"));
        assert!(set(&["*"]).takes("image/png"));
    }

    #[test]
    fn what_cannot_be_read_is_taken_by_those_alone_who_take_anything() {
        for unreadable in ["/", "text/", "/plain", ";charset=utf-8"] {
            assert!(set(&["*/*"]).takes(unreadable), "{unreadable}");
            assert!(!set(&["text/*"]).takes(unreadable), "{unreadable}");
            assert!(set(&[unreadable]).is_empty(), "{unreadable}");
        }
    }

    #[test]
    fn stars_stand_for_anything_on_either_side() {
        assert!(set(&["image/*"]).takes("image/png"));
        assert!(set(&["*/*"]).takes("application/x-unknown"));
        assert!(set(&["text/plain"]).meets(&set(&["video/mp4", "text/*"])));
        assert!(!set(&["text/plain"]).meets(&set(&["video/*"])));
    }
}
