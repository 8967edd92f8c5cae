//! What every task store does alike.
//!
//! The traits of `nuncio_tasks::store` say it in words, the checks here in code. A store's
//! test file runs all of them, each as a test of its own:
//!
//! ```ignore
//! use nuncio_testkit::contract::{Fixture, contract_tests};
//!
//! async fn memory() -> Fixture {
//!     Fixture::new(Arc::new(MemoryStore::new()), ())
//! }
//!
//! contract_tests!(memory);
//! ```
//!
//! The factory gives a store with nothing in it, and may give `Option<Fixture>` instead: with
//! `None` the check is passed over, for services that are not there. Checks never take the
//! passing of time as proof: what must not happen is an hour ahead, what must happen is waited
//! for.

#![expect(clippy::missing_panics_doc, reason = "a check panics when a store breaks the contract")]

pub mod dead_letters;
pub mod deliveries;
pub mod durability;
pub mod keys;
pub mod leases;
pub mod lists;
pub mod model;
pub mod notes;
pub mod parents;
pub mod reading;
pub mod retention;
pub mod scope;
pub mod wake_ups;
pub mod webhooks;
pub mod writing;

mod story;

use std::{any::Any, fmt, pin::Pin, sync::Arc};

use nuncio_hub::store::HubStore;
use nuncio_tasks::store::Store;

pub use crate::contract_tests;

/// A store under test, and what must live as long as it does.
pub struct Fixture<S: ?Sized = dyn Store> {
    /// `None` only while the store is being opened again.
    store: Option<Arc<S>>,
    reopen: Option<Reopen<S>>,
    /// Dropped last: a directory, a database.
    _guard: Box<dyn Any + Send>,
}

type Reopen<S> = Box<dyn FnMut() -> Pin<Box<dyn Future<Output = Arc<S>> + Send>> + Send>;

impl Fixture {
    /// Wraps an empty store of tasks and what it needs until the check is over.
    pub fn new(store: Arc<dyn Store>, guard: impl Any + Send) -> Self {
        Self::wrap(store, guard)
    }
}

impl Fixture<dyn HubStore> {
    /// Wraps an empty store of a hub and what it needs until the check is over.
    pub fn hub(store: Arc<dyn HubStore>, guard: impl Any + Send) -> Self {
        Self::wrap(store, guard)
    }
}

impl<S: ?Sized + 'static> Fixture<S> {
    fn wrap(store: Arc<S>, guard: impl Any + Send) -> Self {
        Self { store: Some(store), reopen: None, _guard: Box::new(guard) }
    }

    /// Says how to open the store again, after it has been dropped.
    #[must_use]
    pub fn with_reopen<F, O>(mut self, mut open: F) -> Self
    where
        F: FnMut() -> O + Send + 'static,
        O: Future<Output = Arc<S>> + Send + 'static,
    {
        self.reopen = Some(Box::new(move || Box::pin(open())));
        self
    }

    /// Returns the store.
    pub fn store(&self) -> &S {
        self.shared()
    }

    /// Returns the store for another task of the runtime.
    pub fn shared(&self) -> &Arc<S> {
        self.store.as_ref().expect("the store is away only while `reopen` has the fixture")
    }

    /// Drops the store and opens it again. `false` if nothing would outlive it.
    pub async fn reopen(&mut self) -> bool {
        let Some(open) = &mut self.reopen else { return false };
        self.store = None;
        self.store = Some(open().await);
        true
    }
}

impl<S: ?Sized> fmt::Debug for Fixture<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixture")
            .field("can_reopen", &self.reopen.is_some())
            .finish_non_exhaustive()
    }
}

/// Makes one test of every check of the contract, for the stores that a factory makes: an
/// `async fn() -> Fixture` or `async fn() -> Option<Fixture>`.
#[macro_export]
macro_rules! contract_tests {
    ($factory:expr) => {
        $crate::contract_tests! { @tests $factory;
            writing::a_new_task_reads_back_as_it_was_opened
            writing::a_task_may_be_opened_in_any_state
            writing::a_task_is_opened_with_a_whole_batch
            writing::an_identifier_is_unique_within_its_tenant
            writing::a_log_is_numbered_from_one_without_a_gap
            writing::texts_come_back_byte_by_byte
            writing::a_batch_is_seen_whole_or_not_at_all
            writing::signals_at_once_get_places_without_a_gap
            writing::outputs_at_once_are_one_winner_and_a_changed_state
            writing::a_wrong_epoch_is_fenced_and_changes_nothing
            writing::another_state_is_refused_and_changes_nothing
            writing::the_epoch_is_compared_before_the_state
            writing::nothing_follows_the_end
            writing::signals_need_no_epoch_in_any_unfinished_state
            writing::an_input_makes_a_waiting_task_work_again
            writing::an_empty_batch_writes_no_entry
            writing::the_time_is_that_of_the_newest_status
            writing::a_task_that_is_not_there_is_gone
            writing::a_context_belongs_to_one_caller
            writing::a_context_opened_by_two_at_once_is_given_to_one
            writing::unfinished_tasks_are_limited_for_each_caller
            leases::a_lease_begins_with_the_task
            leases::a_lease_is_taken_only_when_nobody_has_it
            leases::a_lease_that_is_over_can_be_taken
            leases::a_lease_of_two_takers_at_once_goes_to_one
            leases::a_lease_ends_with_the_task
            leases::a_lease_can_end_while_the_task_waits
            leases::a_held_task_is_not_claimed
            leases::a_task_that_waits_for_its_caller_is_not_claimed
            leases::an_ended_task_is_not_claimed
            leases::a_task_that_was_given_back_is_claimed
            leases::a_task_that_nobody_ever_had_is_claimed
            leases::a_task_that_works_again_without_an_owner_is_claimed
            leases::a_task_whose_owner_is_gone_is_claimed_as_abandoned
            leases::a_waiting_task_whose_owner_is_gone_is_claimed
            leases::every_abandonment_is_counted
            leases::a_claim_raises_the_epoch_and_fences_the_old_owner
            leases::a_claim_takes_no_more_than_asked_for
            leases::claims_at_once_take_each_task_once
            leases::a_claim_takes_the_tasks_of_its_agents
            leases::a_task_of_another_agent_is_claimed_when_orphaned
            leases::a_renewed_lease_goes_on
            leases::a_lease_that_has_only_run_out_is_renewed
            leases::lost_leases_are_told
            leases::a_lost_lease_cannot_be_given_back
            wake_ups::a_wake_up_is_due_after_its_time_and_once
            wake_ups::a_wake_up_does_not_come_before_its_time
            wake_ups::a_wake_up_waits_while_somebody_has_the_lease
            wake_ups::a_wake_up_can_be_moved_and_taken_back
            wake_ups::a_wake_up_ends_with_the_task
            wake_ups::a_claim_for_another_reason_leaves_the_wake_up
            wake_ups::a_wake_up_is_for_the_tasks_agent
            keys::the_same_request_opens_one_task
            keys::a_key_that_was_used_is_known
            keys::a_repeated_request_shows_the_task_as_of_now
            keys::another_request_with_the_same_key_is_refused
            keys::keys_count_within_a_place
            keys::equal_requests_at_once_open_one_task
            keys::the_same_message_is_written_once
            keys::a_repeated_message_is_known_after_the_end
            keys::equal_messages_at_once_are_written_once
            keys::keys_of_tasks_and_messages_are_the_same_keys
            keys::what_is_refused_leaves_its_key_unused
            keys::a_repeated_request_is_not_counted_as_one_too_many
            keys::a_key_that_is_let_go_opens_another_task
            keys::a_key_is_let_go_by_the_task_that_it_opened
            keys::what_is_refused_lets_go_of_no_key
            notes::a_note_comes_back_byte_by_byte
            notes::the_newest_note_is_kept
            notes::a_note_alone_changes_nothing_else
            notes::a_note_of_a_refused_batch_is_not_kept
            notes::a_note_that_is_too_large_is_refused_first
            notes::a_note_stays_when_the_task_ends
            notes::notes_at_once_leave_the_one_that_came_last
            notes::the_note_of_a_task_that_is_not_there_is_none
            parents::a_task_knows_what_it_was_opened_for
            parents::children_are_found_in_the_order_of_their_opening
            parents::foreign_children_are_absent
            parents::a_repeated_request_changes_no_parent
            scope::foreign_tasks_are_absent
            scope::an_equal_identifier_of_another_tenant_is_another_task
            scope::foreign_dead_letters_are_absent
            reading::a_task_at_any_place_and_what_follows_is_the_task_now
            reading::a_place_outside_the_log_is_the_end_or_a_gap
            reading::snapshots_change_nothing_for_readers
            reading::a_snapshot_of_another_place_is_not_kept
            reading::parts_that_are_not_wanted_are_left_out
            reading::a_tail_is_read_in_pages
            reading::a_tail_stops_at_its_bytes_but_has_one_entry
            reading::a_tail_behind_the_end_is_empty
            reading::the_tail_of_a_task_that_is_gone_has_no_mark
            reading::marks_tell_how_far_tasks_are
            lists::tasks_are_listed_by_time_then_identifier
            lists::every_filter_and_all_together_hold
            lists::a_status_of_the_very_moment_is_listed
            lists::pages_hold_every_task_once
            lists::pages_of_a_filter_hold_every_match_once
            lists::a_task_that_moves_between_pages_spoils_no_other
            lists::tasks_without_a_time_come_last
            lists::listed_tasks_have_the_wanted_parts
            lists::totals_follow_every_change
            webhooks::a_webhook_reads_back
            webhooks::a_webhook_replaces_its_namesake
            webhooks::webhooks_are_limited
            webhooks::a_deleted_webhook_is_gone
            webhooks::a_webhook_of_a_task_that_is_gone_is_refused
            webhooks::webhooks_come_with_a_task_or_a_message
            deliveries::a_webhook_of_a_new_task_gets_every_event
            deliveries::a_later_webhook_gets_only_later_events
            deliveries::a_webhook_that_comes_with_a_batch_gets_it
            deliveries::a_taken_webhook_is_not_taken_twice
            deliveries::claims_at_once_take_each_webhook_once
            deliveries::a_delivery_that_is_over_is_taken_by_another
            deliveries::sent_events_follow_one_another_under_one_claim
            deliveries::a_settled_event_is_not_settled_twice
            deliveries::a_retry_does_not_come_before_its_time
            deliveries::a_retry_comes_after_its_time_and_counts
            deliveries::a_released_delivery_is_due_at_once
            deliveries::a_dead_event_leaves_a_letter_and_moves_on
            deliveries::an_old_epoch_settles_nothing
            deliveries::a_deleted_webhook_settles_nothing
            deliveries::a_replaced_webhook_begins_anew_with_what_is_unsent
            deliveries::an_ended_task_is_still_delivered
            dead_letters::dead_letters_are_read_the_newest_first
            dead_letters::a_letter_is_sent_again_and_removed
            dead_letters::a_letter_that_dies_again_is_renewed
            dead_letters::a_letter_to_be_tried_later_delays_nothing_else
            dead_letters::a_released_letter_is_due_at_once
            dead_letters::a_letter_goes_with_its_webhook
            retention::tasks_are_removed_by_age
            retention::tasks_are_kept_by_count_for_each_state_and_tenant
            retention::no_rule_removes_nothing
            retention::a_live_task_is_never_removed
            retention::a_sweep_removes_no_more_than_asked_for
            retention::all_that_belongs_to_a_task_goes_with_it_but_its_key
            retention::logs_are_removed_beyond_the_snapshot
            retention::a_log_stays_while_a_webhook_needs_it
            retention::logs_keys_and_letters_stay_for_their_time
            retention::keys_are_removed_by_age
            retention::letters_are_removed_by_age
            durability::everything_is_there_after_opening_again
            durability::leases_and_epochs_outlive_the_store
            durability::deliveries_outlive_the_store
        }
    };
    (@tests $factory:expr; $($module:ident :: $check:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $check() {
                let fixture: ::core::option::Option<$crate::contract::Fixture> =
                    $factory().await.into();
                if let Some(fixture) = fixture {
                    $crate::contract::$module::$check(fixture).await;
                }
            }
        )*
    };
}

#[cfg(test)]
mod tests {
    /// The sources of the checks, by module.
    const SOURCES: [(&str, &str); 14] = [
        ("writing", include_str!("contract/writing.rs")),
        ("leases", include_str!("contract/leases.rs")),
        ("wake_ups", include_str!("contract/wake_ups.rs")),
        ("keys", include_str!("contract/keys.rs")),
        ("notes", include_str!("contract/notes.rs")),
        ("parents", include_str!("contract/parents.rs")),
        ("scope", include_str!("contract/scope.rs")),
        ("reading", include_str!("contract/reading.rs")),
        ("lists", include_str!("contract/lists.rs")),
        ("webhooks", include_str!("contract/webhooks.rs")),
        ("deliveries", include_str!("contract/deliveries.rs")),
        ("dead_letters", include_str!("contract/dead_letters.rs")),
        ("retention", include_str!("contract/retention.rs")),
        ("durability", include_str!("contract/durability.rs")),
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
        let listed: Vec<&str> = include_str!("contract.rs")
            .lines()
            .skip_while(|line| !line.contains("@tests $factory;"))
            .skip(1)
            .take_while(|line| !line.contains('}'))
            .map(str::trim)
            .collect();
        assert_eq!(listed, written);
    }
}
