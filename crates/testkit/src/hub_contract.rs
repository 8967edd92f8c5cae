//! What every store of a hub does alike.
//!
//! `nuncio_hub::store` says it in words, the checks here in code. A store's test file runs all
//! of them, each as a test of its own:
//!
//! ```ignore
//! use nuncio_testkit::hub_contract::{Fixture, hub_contract_tests};
//!
//! async fn memory() -> Fixture {
//!     Fixture::hub(Arc::new(MemoryHub::default()), ())
//! }
//!
//! hub_contract_tests!(memory);
//! ```
//!
//! Factories are as for [task stores](crate::contract).

#![expect(clippy::missing_panics_doc, reason = "a check panics when a store breaks the contract")]

pub mod audit;
pub mod beats;
pub mod budgets;
pub mod commits;
pub mod durability;
pub mod events;
pub mod model;

mod story;

use nuncio_hub::store::HubStore;

pub use crate::hub_contract_tests;

/// A store under test, and what must live as long as it does.
pub type Fixture = crate::contract::Fixture<dyn HubStore>;

/// Makes one test of every check of the contract, for the stores that a factory makes: an
/// `async fn() -> Fixture` or `async fn() -> Option<Fixture>`.
#[macro_export]
macro_rules! hub_contract_tests {
    ($factory:expr) => {
        $crate::hub_contract_tests! { @tests $factory;
            commits::nothing_was_ever_written_at_version_0
            commits::a_commit_is_one_version_more
            commits::a_commit_that_has_not_seen_the_newest_writes_nothing
            commits::a_commit_that_has_seen_the_future_writes_nothing
            commits::an_empty_commit_is_a_version_too
            commits::changes_have_each_record_once_as_it_is_now
            commits::changes_behind_the_newest_are_none
            commits::a_removed_record_is_told_without_a_body
            commits::a_removed_record_can_come_back
            commits::records_of_other_kinds_are_other_records
            commits::texts_come_back_byte_by_byte
            commits::of_commits_at_once_one_is_written
            commits::everybody_who_reads_again_is_written_in_the_end
            commits::readers_see_a_commit_as_a_whole
            commits::many_records_are_written_at_once
            events::events_are_numbered_without_a_gap
            events::a_commit_tells_the_last_event_new_or_old
            events::every_filter_and_all_together_hold
            events::pages_of_events_hold_each_once
            events::an_event_reads_back_as_it_was_written
            beats::a_beat_takes_the_place_of_the_one_before
            beats::a_beat_is_stamped_by_the_store
            beats::every_beat_is_behind_the_tick_before
            beats::a_tick_is_not_used_again_when_beats_are_forgotten
            beats::beats_at_once_are_all_behind_the_tick
            beats::a_reader_misses_no_beat
            beats::who_has_not_beaten_for_long_is_silent
            beats::who_never_beat_is_not_silent
            beats::forgotten_beats_are_gone
            beats::beats_change_no_version
            budgets::an_allowance_is_spent_to_its_limit
            budgets::all_are_spent_or_none
            budgets::a_new_day_begins_anew_and_an_old_one_does_not_come_back
            budgets::spent_at_once_is_spent_exactly
            audit::lines_are_tied_to_one_another
            audit::lines_of_commits_stand_in_the_same_trail
            audit::lines_appended_at_once_are_one_trail
            audit::a_trail_is_read_in_pages
            durability::everything_is_there_after_opening_again
            durability::numbers_go_on_after_opening_again
        }
    };
    (@tests $factory:expr; $($module:ident :: $check:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $check() {
                let fixture: ::core::option::Option<$crate::hub_contract::Fixture> =
                    $factory().await.into();
                if let Some(fixture) = fixture {
                    $crate::hub_contract::$module::$check(fixture).await;
                }
            }
        )*
    };
}

#[cfg(test)]
mod tests {
    /// The sources of the checks, by module.
    const SOURCES: [(&str, &str); 6] = [
        ("commits", include_str!("hub_contract/commits.rs")),
        ("events", include_str!("hub_contract/events.rs")),
        ("beats", include_str!("hub_contract/beats.rs")),
        ("budgets", include_str!("hub_contract/budgets.rs")),
        ("audit", include_str!("hub_contract/audit.rs")),
        ("durability", include_str!("hub_contract/durability.rs")),
    ];

    #[test]
    fn no_check_is_forgotten() {
        let mut written = Vec::new();
        for (module, source) in SOURCES {
            for line in source.lines().filter_map(|line| line.strip_prefix("pub async fn ")) {
                let check = line.split('(').next().unwrap();
                written.push(format!("{module}::{check}"));
            }
        }
        let listed: Vec<&str> = include_str!("hub_contract.rs")
            .lines()
            .skip_while(|line| !line.contains("@tests $factory;"))
            .skip(1)
            .take_while(|line| !line.contains('}'))
            .map(str::trim)
            .collect();
        assert_eq!(listed, written);
    }
}
