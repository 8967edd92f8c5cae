//! Lists of tasks, page by page.

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    state::TaskState,
    task::{Task, TaskStatus},
    time::Timestamp,
};
use nuncio_tasks::{
    scope::{Place, Scope},
    store::{Filter, Head, Listed, Page, Position, Store, Want, order},
};

use super::{
    Fixture,
    story::{
        acme, ann, append, artifact, bob, cancel, context, end, folded, input, moment, new,
        opening_as, opening_in, opening_of, owned, place, progress, signal, status_at, write,
    },
};

/// The newest status first; of those of the same microsecond, the greatest identifier.
pub async fn tasks_are_listed_by_time_then_identifier(fixture: Fixture) {
    let store = fixture.store();
    let ids = ["b", "a", "é", "B", "zz", "z", "10", "9", "~"];
    let mut heads = Vec::new();
    for (number, id) in ids.into_iter().enumerate() {
        for (prefix, seconds) in [("late", 9), ("early", -9), ("in-between", 0)] {
            let at = match number % 3 {
                // All in the same microsecond.
                0 => moment(seconds),
                1 => Timestamp::from_parts(moment(seconds).to_parts().0, 999).expect("a moment"),
                _ => Timestamp::from_parts(moment(seconds).to_parts().0, 1).expect("a moment"),
            };
            heads.push(open_named(store, &format!("{prefix} {id}"), Some(at)).await);
        }
    }
    sort(&mut heads);
    assert_eq!(ids_of(&list(store, &acme(), &Filter::default(), None, 100).await), ids_in(&heads));
    // A task that changes moves to the front.
    let last = heads.pop().expect("there are tasks");
    let front = status_at(&last, TaskState::Working, moment(99));
    heads.insert(0, write(store, append(&last, front)).await);
    assert_eq!(ids_of(&list(store, &acme(), &Filter::default(), None, 100).await), ids_in(&heads));
}

/// Each condition alone and every combination of them, in every kind of scope.
pub async fn every_filter_and_all_together_hold(fixture: Fixture) {
    let store = fixture.store();
    let heads = populate(store).await;
    for scope in scopes() {
        for filter in filters() {
            let mut expected: Vec<Head> =
                heads.iter().filter(|head| matches(head, &scope, &filter)).cloned().collect();
            sort(&mut expected);
            let listed = list(store, &scope, &filter, None, 1_000).await;
            assert_eq!(ids_of(&listed), ids_in(&expected), "{scope:?} {filter:?}");
            assert_eq!(listed.total, expected.len() as u64, "{scope:?} {filter:?}");
            assert!(!listed.more);
            let heads: Vec<Head> = listed.tasks.into_iter().map(|task| task.head).collect();
            assert_eq!(heads, expected, "{scope:?} {filter:?}");
        }
    }
}

/// Callers ask for what has changed since the last status they have seen.
pub async fn a_status_of_the_very_moment_is_listed(fixture: Fixture) {
    let store = fixture.store();
    for nanos in [0, 1, 999, 1_000, 123_456_789, 999_999_999] {
        let at = Timestamp::from_parts(1_780_000_000, nanos).expect("a moment");
        let head = new(store, opening_as(&ann(), TaskState::Working, at)).await;
        let filter = Filter { updated_from: Some(at), ..Filter::default() };
        let listed = list(store, &acme(), &filter, None, 100).await;
        assert!(ids_of(&listed).contains(&head.id), "{at}");
        let millisecond_later = Timestamp::from_millis(at.as_millis() + 1);
        let filter = Filter { updated_from: millisecond_later, ..Filter::default() };
        let listed = list(store, &acme(), &filter, None, 100).await;
        assert!(!ids_of(&listed).contains(&head.id), "{at}");
    }
}

/// Whatever the size of the pages; the total is the same on each.
pub async fn pages_hold_every_task_once(fixture: Fixture) {
    let store = fixture.store();
    let mut heads = populate(store).await;
    heads.retain(|head| acme().sees(&head.place));
    sort(&mut heads);
    for size in [1, 2, 7, heads.len() - 1, heads.len(), heads.len() + 1] {
        let pages = read_all(store, &acme(), &Filter::default(), size).await;
        assert_eq!(pages.concat(), ids_in(&heads), "pages of {size}");
        assert!(pages.iter().rev().skip(1).all(|page| page.len() == size));
    }
}

/// Filters and scopes do not make pages shorter.
pub async fn pages_of_a_filter_hold_every_match_once(fixture: Fixture) {
    let store = fixture.store();
    let heads = populate(store).await;
    for scope in scopes() {
        for filter in filters() {
            let mut expected: Vec<Head> =
                heads.iter().filter(|head| matches(head, &scope, &filter)).cloned().collect();
            sort(&mut expected);
            let pages = read_all(store, &scope, &filter, 3).await;
            assert_eq!(pages.concat(), ids_in(&expected), "{scope:?} {filter:?}");
            assert!(pages.iter().rev().skip(1).all(|page| page.len() == 3));
        }
    }
}

/// Tasks that stand still are listed once, whatever the others do between two pages.
pub async fn a_task_that_moves_between_pages_spoils_no_other(fixture: Fixture) {
    let store = fixture.store();
    let mut heads = Vec::new();
    for number in 0..20 {
        heads.push(new(store, opening_as(&ann(), TaskState::Working, moment(number))).await);
    }
    let (mut seen, mut after) = (Vec::new(), None);
    let mut moving = heads.iter().step_by(4);
    loop {
        let listed = list(store, &acme(), &Filter::default(), after, 3).await;
        after = listed.tasks.last().map(|task| position(&task.head));
        seen.extend(ids_of(&listed));
        if !listed.more {
            break;
        }
        // One that may or may not have been listed moves to the front, and one comes new.
        if let Some(head) = moving.next() {
            write(store, append(head, status_at(head, TaskState::Working, moment(99)))).await;
            new(store, opening_as(&ann(), TaskState::Working, moment(98))).await;
        }
    }
    for (number, head) in heads.iter().enumerate() {
        let times = seen.iter().filter(|id| **id == head.id).count();
        if number % 4 == 0 {
            assert!(times <= 1, "a task that moved to the front was listed twice");
        } else {
            assert_eq!(times, 1, "a task that stood still");
        }
    }
    assert_eq!(seen.len(), seen.iter().filter(|id| heads.iter().any(|h| h.id == **id)).count());
}

/// An agent need not say since when its status is.
pub async fn tasks_without_a_time_come_last(fixture: Fixture) {
    let store = fixture.store();
    let timeless = open_named(store, "timeless", None).await;
    assert_eq!(timeless.updated, Timestamp::from_millis(0).expect("a moment"));
    let early = open_named(store, "early", Some(moment(-1_000_000))).await;
    let listed = list(store, &acme(), &Filter::default(), None, 10).await;
    assert_eq!(ids_of(&listed), [early.id.clone(), timeless.id.clone()]);
    let filter = Filter { updated_from: Some(moment(-1_000_000)), ..Filter::default() };
    assert_eq!(ids_of(&list(store, &acme(), &filter, None, 10).await), [early.id]);
    let told = write(store, signal(&timeless, cancel(&timeless))).await;
    assert_eq!(told.updated, Timestamp::from_millis(1_000).expect("a moment"));
}

/// A listed task is what reading it gives, with or without what takes room.
pub async fn listed_tasks_have_the_wanted_parts(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    let head = write(store, append(&head, progress(&head, "on it"))).await;
    let head = write(store, append(&head, artifact(&head, "a", "text"))).await;
    let live = write(store, signal(&head, input(&head, "more"))).await;
    let head = new(store, owned(&ann())).await;
    let head = write(store, append(&head, artifact(&head, "a", "text"))).await;
    let ended = end(store, &head, TaskState::Completed).await;
    for (history, artifacts) in [(true, true), (true, false), (false, true), (false, false)] {
        let page = Page { after: None, size: 10, history, artifacts };
        let listed = store.list(&acme(), Filter::default(), page).await.expect("listed");
        assert_eq!(listed.tasks.len(), 2);
        for head in [&live, &ended] {
            let expected = folded(store, head, Want { at: None, history, artifacts }).await;
            let task = listed.tasks.iter().find(|task| task.head.id == head.id);
            let task = task.expect("the task is listed").fold().expect("folded");
            assert_eq!(task, expected);
            assert_eq!(task.task.history.is_empty(), !history);
            assert_eq!(task.task.artifacts.is_empty(), !artifacts);
        }
    }
}

/// Every state and every conversation is counted as of now.
pub async fn totals_follow_every_change(fixture: Fixture) {
    let store = fixture.store();
    let total = async |filter: Filter| list(store, &acme(), &filter, None, 1).await.total;
    let in_state = |state| Filter { states: vec![state], ..Filter::default() };
    let chat = || Filter { context: Some(context("chat")), ..Filter::default() };
    assert_eq!(total(Filter::default()).await, 0);
    let head =
        new(store, opening_in(&ann(), context("chat"), TaskState::Submitted, moment(0))).await;
    assert_eq!(total(in_state(TaskState::Submitted)).await, 1);
    let steps = [TaskState::Working, TaskState::InputRequired, TaskState::Canceled];
    let mut head = head;
    for state in steps {
        let before = head.state;
        head = write(store, append(&head, status_at(&head, state, moment(1)))).await;
        assert_eq!(total(in_state(before)).await, 0, "{before:?}");
        assert_eq!(total(in_state(state)).await, 1, "{state:?}");
        assert_eq!((total(chat()).await, total(Filter::default()).await), (1, 1));
    }
    new(store, opening_in(&ann(), context("chat"), TaskState::Working, moment(0))).await;
    assert_eq!((total(chat()).await, total(Filter::default()).await), (2, 2));
    assert_eq!(total(Filter { states: vec![TaskState::Working], ..chat() }).await, 1);
}

/// Two tenants, callers and agents, three conversations, many states, with ties.
async fn populate(store: &dyn Store) -> Vec<Head> {
    let mut heads = Vec::new();
    for number in 0..60 {
        let chat = context(&format!("chat {}", number % 3));
        let state = STATES[number % 5];
        let at = moment(i64::try_from(number / 6).expect("a small number"));
        heads.push(new(store, opening_in(&places()[number % 4], chat, state, at)).await);
    }
    heads
}

const STATES: [TaskState; 5] = [
    TaskState::Submitted,
    TaskState::Working,
    TaskState::Completed,
    TaskState::InputRequired,
    TaskState::Failed,
];

/// States to be asked for.
const FILTERED: [&[TaskState]; 5] = [
    &[],
    &[TaskState::Working],
    &[TaskState::Rejected],
    &[TaskState::InputRequired, TaskState::AuthRequired],
    &[TaskState::Failed, TaskState::Rejected, TaskState::Working, TaskState::Failed],
];

fn places() -> [Place; 4] {
    [ann(), bob(), place("acme", "other", "user:ann"), place("evil", "echo", "user:ann")]
}

fn scopes() -> Vec<Scope> {
    let one_agent = Scope { agent: Some(ann().agent), ..acme() };
    let one_caller = Scope { caller: Some(ann().caller), ..acme() };
    let mut scopes = vec![acme(), Scope::tenant(places()[3].tenant.clone()), one_agent, one_caller];
    scopes.extend(places().iter().map(Scope::from));
    scopes
}

fn filters() -> Vec<Filter> {
    let mut filters = Vec::new();
    for chat in [None, Some("chat 1"), Some("nobody's")] {
        for states in FILTERED {
            for from in [None, Some(moment(0)), Some(moment(5)), Some(moment(1_000))] {
                let (context, states) = (chat.map(context), states.to_vec());
                filters.push(Filter { context, states, updated_from: from });
            }
        }
    }
    filters
}

fn matches(head: &Head, scope: &Scope, filter: &Filter) -> bool {
    scope.sees(&head.place)
        && filter.context.as_ref().is_none_or(|context| *context == head.context)
        && (filter.states.is_empty() || filter.states.contains(&head.state))
        && filter.updated_from.is_none_or(|from| from <= head.updated)
}

async fn open_named(store: &dyn Store, id: &str, at: Option<Timestamp>) -> Head {
    let context = ContextId::generate();
    let id = TaskId::parse(id).expect("a short text is an identifier");
    let mut status = TaskStatus::new(TaskState::Working, moment(0));
    status.timestamp = at;
    new(store, opening_of(&ann(), &Task::new(id, context.clone(), status), context)).await
}

fn sort(heads: &mut [Head]) {
    let place = |head: &Head| (order(head.updated), head.id.as_str().to_owned());
    heads.sort_by_key(|head| std::cmp::Reverse(place(head)));
}

fn position(head: &Head) -> Position {
    Position { updated: order(head.updated), id: head.id.clone() }
}

fn ids_in(heads: &[Head]) -> Vec<TaskId> {
    heads.iter().map(|head| head.id.clone()).collect()
}

fn ids_of(listed: &Listed) -> Vec<TaskId> {
    listed.tasks.iter().map(|task| task.head.id.clone()).collect()
}

async fn list(
    store: &dyn Store,
    scope: &Scope,
    filter: &Filter,
    after: Option<Position>,
    size: usize,
) -> Listed {
    let page = Page { after, size, history: false, artifacts: false };
    store.list(scope, filter.clone(), page).await.expect("listed")
}

/// Reads all pages, and checks that each knows the total and whether there are more.
async fn read_all(
    store: &dyn Store,
    scope: &Scope,
    filter: &Filter,
    size: usize,
) -> Vec<Vec<TaskId>> {
    let (mut pages, mut after, mut count) = (Vec::new(), None, 0);
    loop {
        let listed = list(store, scope, filter, after, size).await;
        count += listed.tasks.len();
        assert_eq!(listed.more, (count as u64) < listed.total, "{scope:?} {filter:?}");
        assert!(listed.tasks.len() <= size);
        after = listed.tasks.last().map(|task| position(&task.head));
        pages.push(ids_of(&listed));
        if !listed.more {
            return pages;
        }
    }
}
