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
        split(media_type).is_some_and(|wanted| self.0.iter().any(|known| overlap(known, &wanted)))
    }

    /// Tells whether the two sets have anything in common.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.iter().any(|known| other.0.iter().any(|wanted| overlap(known, wanted)))
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
    let (kind, sub) = essence.split_once('/')?;
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
    fn stars_stand_for_anything_on_either_side() {
        assert!(set(&["image/*"]).takes("image/png"));
        assert!(set(&["*/*"]).takes("application/x-unknown"));
        assert!(set(&["text/plain"]).meets(&set(&["video/mp4", "text/*"])));
        assert!(!set(&["text/plain"]).meets(&set(&["video/*"])));
    }
}
