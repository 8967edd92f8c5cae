//! Any version and binding, to any version and binding.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use nuncio_protocol::dialect::WireForm;
use nuncio_testkit::{webhook::Receiver, wire::Http};
use tokio::task::JoinSet;

use super::{
    agents::{Served, Skilled},
    callers::FORMS,
    operations::{Cell, OPERATIONS},
    stage::Stage,
    world::World,
};

/// What came of the operations in each cell: by row and column, why some failed.
#[derive(Default)]
struct Table {
    rows: Vec<String>,
    columns: Vec<String>,
    failed: BTreeMap<(usize, usize), Vec<(&'static str, String)>>,
}

/// Calls agents of all these kinds, in all forms, and does everything that can be done.
async fn play(agents: &[(WireForm, Skilled)], callers: &[WireForm]) -> Table {
    let world = Arc::new(World::start().await);
    let (ann, bob) = (world.key("ann").await, world.key("bob").await);
    let receiver = Arc::new(Receiver::start().await);
    let mut table = Table::default();
    table.rows.extend(callers.iter().map(|form| form.name().to_owned()));
    let mut playing = JoinSet::new();
    let mut places = std::collections::HashMap::new();
    let mut all = Vec::new();
    for (column, (form, skilled)) in agents.iter().enumerate() {
        table.columns.push(format!("{} {skilled:?}", form.name()));
        let stage = Stage::default();
        let served = Arc::new(Served::script(*form, *skilled, &stage).await);
        let agent = format!("agent-{column}");
        world.add(&agent, &served.url()).await;
        all.push(Arc::clone(&served));
        for (row, caller) in callers.iter().enumerate() {
            let http = Http::new(world.address).below(&format!("/agents/{agent}"));
            let cell = Cell {
                name: format!("{row}-{column}"),
                served: Arc::clone(&served),
                stage: stage.clone(),
                ann: world.remote(&ann, &agent, *caller),
                bob: world.remote(&bob, &agent, *caller),
                http: http.with("authorization", &format!("Bearer {ann}")),
                receiver: Arc::clone(&receiver),
            };
            for (operation, run) in OPERATIONS {
                let id = playing.spawn(run(cell.clone())).id();
                places.insert(id, (row, column, operation));
            }
        }
    }
    while let Some(played) = playing.join_next_with_id().await {
        let Err(error) = played else { continue };
        let (row, column, operation) = places[&error.id()];
        table.failed.entry((row, column)).or_default().push((operation, reason(error)));
    }
    for served in all {
        assert_eq!(served.strays(), Vec::<String>::new(), "nobody guesses at forms");
    }
    table
}

/// Returns what a panic said.
fn reason(error: tokio::task::JoinError) -> String {
    let panic = error.into_panic();
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_default()
}

impl Table {
    /// Writes one line for each caller, and below why anything failed.
    fn write(&self) -> String {
        let mut text = String::new();
        let width = |names: &[String]| names.iter().map(String::len).max().unwrap_or_default();
        let (first, others) = (width(&self.rows), width(&self.columns).max(10));
        let _ = write!(text, "\n{:first$}", "caller \\ agent");
        for column in &self.columns {
            let _ = write!(text, " | {column:others$}");
        }
        let _ = writeln!(text);
        for (row, name) in self.rows.iter().enumerate() {
            let _ = write!(text, "{name:first$}");
            for column in 0..self.columns.len() {
                let failed = self.failed.get(&(row, column)).map_or(0, Vec::len);
                let done = format!("{}/{}", OPERATIONS.len() - failed, OPERATIONS.len());
                let _ = write!(text, " | {done:others$}");
            }
            let _ = writeln!(text);
        }
        for ((row, column), failed) in &self.failed {
            for (operation, why) in failed {
                let (caller, agent) = (&self.rows[*row], &self.columns[*column]);
                let _ = writeln!(text, "{operation}, {caller} to {agent}: {why}");
            }
        }
        text
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_version_and_binding_reaches_any_other() {
    let agents = FORMS.map(|form| (form, Skilled::Resumes));
    let table = play(&agents, &FORMS).await;
    println!("{}", table.write());
    assert!(table.failed.is_empty(), "{} cells failed", table.failed.len());
}

/// Agents that number nothing and know no keys, or cannot even be followed, get from the hub
/// what they lack.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_lacks_the_hub_has() {
    let agents = FORMS.map(|form| (form, Skilled::Streams)).into_iter();
    let agents: Vec<_> = agents.chain(FORMS.map(|form| (form, Skilled::Answers))).collect();
    let table = play(&agents, &[WireForm::V1, WireForm::V03Http]).await;
    println!("{}", table.write());
    assert!(table.failed.is_empty(), "{} cells failed", table.failed.len());
}
