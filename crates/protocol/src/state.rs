//! The task state machine (A2A digest §14).

use crate::json::proto_enum;

proto_enum! {
    /// Where a task stands.
    #[derive(Default)]
    pub enum TaskState {
        /// Unknown. Never sent on purpose; as a filter it means "any".
        #[default]
        Unspecified = 0 "TASK_STATE_UNSPECIFIED",
        /// Accepted, not begun.
        Submitted = 1 "TASK_STATE_SUBMITTED",
        /// Being worked on.
        Working = 2 "TASK_STATE_WORKING",
        /// Finished with success.
        Completed = 3 "TASK_STATE_COMPLETED",
        /// Finished without success.
        Failed = 4 "TASK_STATE_FAILED",
        /// Ended because somebody asked for it.
        Canceled = 5 "TASK_STATE_CANCELED",
        /// Waits for a message from the caller.
        InputRequired = 6 "TASK_STATE_INPUT_REQUIRED",
        /// Declined by the agent, at once or later.
        Rejected = 7 "TASK_STATE_REJECTED",
        /// Waits for a credential.
        AuthRequired = 8 "TASK_STATE_AUTH_REQUIRED",
    }
}

/// What a state means for those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The agent has the turn.
    Active,
    /// The caller has the turn.
    Interrupted,
    /// Nothing will change any more.
    Terminal,
}

impl TaskState {
    /// Returns what the state means for those who wait.
    pub const fn phase(self) -> Phase {
        match self {
            Self::Unspecified | Self::Submitted | Self::Working => Phase::Active,
            Self::InputRequired | Self::AuthRequired => Phase::Interrupted,
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected => Phase::Terminal,
        }
    }

    /// Tells whether nothing can follow.
    pub const fn is_terminal(self) -> bool {
        matches!(self.phase(), Phase::Terminal)
    }

    /// Tells whether the task waits for its caller.
    pub const fn is_interrupted(self) -> bool {
        matches!(self.phase(), Phase::Interrupted)
    }

    /// Tells whether a task in this state has ended otherwise than its caller wished.
    ///
    /// Such a task is a failure for whoever asked for it, even inside a successful reply
    /// (C-39).
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Decides whether a task may go from this state to `next`.
    ///
    /// A new task may begin in any state but [`Unspecified`](Self::Unspecified); ask
    /// [`open`](Self::open) for that.
    pub fn advance(self, next: Self) -> Result<Transition, IllegalTransition> {
        let legal = match self {
            // Repeating a state is progress, or a new question: message and time change.
            Self::Submitted | Self::Working => !matches!(next, Self::Unspecified | Self::Submitted),
            Self::InputRequired | Self::AuthRequired => {
                next == self || next == Self::Working || next.is_terminal()
            }
            Self::Unspecified
            | Self::Completed
            | Self::Failed
            | Self::Canceled
            | Self::Rejected => false,
        };
        if legal {
            Ok(Transition { to: next })
        } else {
            Err(IllegalTransition { from: self, to: next })
        }
    }

    /// Decides whether a new task may begin in this state.
    pub fn open(self) -> Result<Transition, IllegalTransition> {
        match self {
            Self::Unspecified => Err(IllegalTransition { from: self, to: self }),
            state => Ok(Transition { to: state }),
        }
    }
}

/// Proof that a change of state is legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Transition {
    to: TaskState,
}

impl Transition {
    /// Returns the new state.
    pub const fn to(self) -> TaskState {
        self.to
    }
}

/// A change of state that is against the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a task cannot go from {} to {}", from.as_str(), to.as_str())]
pub struct IllegalTransition {
    /// The state it is in.
    pub from: TaskState,
    /// The state it was to go to.
    pub to: TaskState,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The table of A2A digest §14, written out: one row a state, one column a next state, in
    /// the order of their numbers (unspecified, submitted, working, completed, failed,
    /// canceled, input required, rejected, auth required).
    const LEGAL: [(TaskState, &str); 9] = [
        (TaskState::Unspecified, "- - - - - - - - -"),
        (TaskState::Submitted, "- - x x x x x x x"),
        (TaskState::Working, "- - x x x x x x x"),
        (TaskState::Completed, "- - - - - - - - -"),
        (TaskState::Failed, "- - - - - - - - -"),
        (TaskState::Canceled, "- - - - - - - - -"),
        (TaskState::InputRequired, "- - x x x x x x -"),
        (TaskState::Rejected, "- - - - - - - - -"),
        (TaskState::AuthRequired, "- - x x x x - x x"),
    ];

    fn table_allows(from: TaskState, to: TaskState) -> bool {
        let (_, row) = LEGAL.iter().find(|(state, _)| *state == from).unwrap();
        row.split(' ').nth(usize::try_from(to.number()).unwrap()).unwrap() == "x"
    }

    proptest! {
        /// Any walk: each step is allowed exactly when the table allows it, and a terminal
        /// state is never left.
        #[test]
        fn a_walk_follows_the_table(steps in prop::collection::vec(prop::sample::select(TaskState::ALL), 1..40)) {
            let mut state = TaskState::Submitted;
            for next in steps {
                match state.advance(next) {
                    Ok(transition) => {
                        prop_assert!(table_allows(state, next), "{state:?} -> {next:?}");
                        prop_assert!(!state.is_terminal());
                        state = transition.to();
                    }
                    Err(error) => {
                        prop_assert!(!table_allows(state, next), "{state:?} -> {next:?}");
                        prop_assert_eq!((error.from, error.to), (state, next));
                    }
                }
            }
        }
    }

    #[test]
    fn every_pair_is_decided_as_the_table_says() {
        for &from in TaskState::ALL {
            for &to in TaskState::ALL {
                assert_eq!(from.advance(to).is_ok(), table_allows(from, to), "{from:?} -> {to:?}");
            }
        }
    }

    #[test]
    fn a_task_may_begin_anywhere_but_nowhere() {
        assert!(TaskState::Unspecified.open().is_err());
        assert!(TaskState::Rejected.open().is_ok());
    }
}
