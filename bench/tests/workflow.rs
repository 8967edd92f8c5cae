//! The workflow suite runs, and its runs come to what they should. Figures are not looked at.

use std::time::Duration;

use nuncio_bench::workflow::{Graph, Stage, most_memory};
use nuncio_workflow::runner::Settings;

#[tokio::test(flavor = "multi_thread")]
async fn every_node_of_a_chain_is_called_once_and_its_time_is_counted() {
    let directory = tempfile::tempdir().expect("a directory");
    let takes = Duration::from_millis(3);
    let stage = Stage::open(directory.path(), takes).await.expect("a hub");
    let ran = stage.run(Graph::Chain, 12).await.expect("a run");
    assert_eq!((ran.nodes, ran.at_once), (12, 1));
    assert!(ran.working >= takes * 12, "{ran:?}");
    assert!(ran.elapsed >= ran.working, "{ran:?}");
    assert!(ran.spent > Duration::ZERO, "{ran:?}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_nodes_run_together_and_no_more_than_may() {
    let limit = Settings::default().per_run;
    let directory = tempfile::tempdir().expect("a directory");
    let stage = Stage::open(directory.path(), Duration::from_millis(50)).await.expect("a hub");
    let ran = stage.run(Graph::Fan, limit + 30).await.expect("a run");
    assert_eq!(ran.nodes, limit + 30);
    assert!((2..=limit).contains(&ran.at_once), "{ran:?}");
    assert!(most_memory().expect("Linux tells") > 1 << 20);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_can_be_run_again_in_another_size() {
    let directory = tempfile::tempdir().expect("a directory");
    let stage = Stage::open(directory.path(), Duration::ZERO).await.expect("a hub");
    for nodes in [1, 5, 2] {
        assert_eq!(stage.run(Graph::Chain, nodes).await.expect("a run").nodes, nodes);
    }
    stage.close().await;
}
