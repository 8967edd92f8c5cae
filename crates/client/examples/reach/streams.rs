//! Cases that are answered with a stream.

use futures_util::StreamExt as _;
use nuncio_protocol::{
    dialect::WireForm,
    ids::TaskId,
    operation::{Request, SubscribeToTaskRequest},
    state::TaskState,
    task::StreamResponse,
};
use tokio::task::JoinSet;

use crate::{
    Failure,
    proxy::Proxy,
    report::{Column, Report},
    target::{Outcome, Target, all, ensure, nobody, saying, text_in, text_of},
};

pub(crate) async fn check(target: &Target, report: &mut Report) {
    report.case(Column::Stream, "a stream to its end", whole(target, 20)).await;
    report.case(Column::Stream, "a message in a stream", message(target)).await;
    report.case(Column::Stream, "a stream to a question", question(target)).await;
    report.case(Column::Subscribe, "SubscribeToTask", subscribe(target)).await;
    report
        .case(Column::Subscribe, "what is kept beside SubscribeToTask", subscribe_and_keep(target))
        .await;
    report.case(Column::Stream, "50 streams at once", crowd(target)).await;
    report.case(Column::Stream, "a stream that is cut", cut(target)).await;
}

/// What `count:N` gives.
fn counted(count: u32) -> String {
    (0..count).map(|index| index.to_string() + " ").collect()
}

/// The text of all artifacts that events bring.
fn pieces(events: &[StreamResponse]) -> String {
    let text = |event: &StreamResponse| match event {
        StreamResponse::ArtifactUpdate(update) => text_in(&update.artifact),
        StreamResponse::Task(task) => text_of(task),
        _ => String::new(),
    };
    events.iter().map(text).collect()
}

fn counting(count: u32) -> Request {
    Request::SendStreamingMessage(saying(&format!("count:{count}")))
}

/// Checks that each piece has come once and in order, and the end last.
fn check_counted(events: &[StreamResponse], count: u32) -> Outcome {
    let (found, expected) = (pieces(events), counted(count));
    ensure!(found == expected, "it brings `{found}`, not `{expected}`");
    let last = events.last().and_then(StreamResponse::state);
    ensure!(last == Some(TaskState::Completed), "it ends with {last:?}");
    Ok(())
}

async fn whole(target: &Target, count: u32) -> Outcome {
    check_counted(&target.stream(counting(count)).await?, count)
}

async fn message(target: &Target) -> Outcome {
    let request = Request::SendStreamingMessage(saying("message:hello"));
    match &target.stream(request).await?[..] {
        [StreamResponse::Message(message)] if message.text() == "hello" => Ok(()),
        other => Err(format!("it gives {other:?}").into()),
    }
}

async fn question(target: &Target) -> Outcome {
    let events = target.stream(Request::SendStreamingMessage(saying("ask"))).await?;
    let last = events.last().and_then(StreamResponse::state);
    ensure!(last == Some(TaskState::InputRequired), "it ends with {last:?}");
    Ok(())
}

async fn subscribe(target: &Target) -> Outcome {
    // It goes on for seconds, so that there is something to be told, also where the task is not.
    let id = target.begin("count:500").await?.id;
    let mut events = target.open(subscribing(&id)).await?;
    let first = events.next().await.ok_or("it brings nothing")??;
    let begins_with_task = matches!(first.response.value()?, StreamResponse::Task(_));
    let is_older = matches!(target.form(), WireForm::V03 | WireForm::V03Http | WireForm::V03Grpc);
    ensure!(begins_with_task || is_older, "it begins with {first:?}");
    target.cancel(&id).await?;
    let events = all(events).await?;
    let last = events.last().and_then(StreamResponse::state);
    ensure!(last == Some(TaskState::Canceled), "it ends with {last:?}");
    Ok(())
}

async fn subscribe_and_keep(target: &Target) -> Outcome {
    let id = target.begin("count:50").await?.id;
    let events = target.stream(subscribing(&id)).await?;
    let last = events.last().and_then(StreamResponse::state);
    ensure!(last == Some(TaskState::Completed), "it ends with {last:?}");
    let kept = text_of(&target.get(&id).await?);
    ensure!(kept == counted(50), "the agent keeps `{kept}`");
    Ok(())
}

fn subscribing(id: &TaskId) -> Request {
    Request::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id: id.clone() })
}

async fn crowd(target: &Target) -> Outcome {
    let mut streams = JoinSet::new();
    for _ in 0..50 {
        let target = target.clone();
        streams.spawn(async move { whole(&target, 10).await });
    }
    while let Some(outcome) = streams.join_next().await {
        outcome??;
    }
    Ok(())
}

async fn cut(target: &Target) -> Outcome {
    const COUNT: u32 = 100;
    let proxy = Proxy::start(target.address(), vec![2000, 2500, 3000]).await?;
    let remote = target.behind(&proxy.address)?;
    let seen = all(remote.stream(nobody(), counting(COUNT)).await?).await?;
    let cuts = proxy.cuts();
    ensure!(cuts >= 2, "it was cut {cuts} times");
    let kept = kept(target, &seen).await?;
    ensure!(kept == counted(COUNT), "the agent itself keeps `{kept}`");
    check_counted(&seen, COUNT)
}

/// What the agent keeps of the task that events are about.
async fn kept(target: &Target, events: &[StreamResponse]) -> Result<String, Failure> {
    let id = events.iter().find_map(|event| match event {
        StreamResponse::Task(task) => Some(&task.id),
        StreamResponse::StatusUpdate(update) => Some(&update.task_id),
        StreamResponse::ArtifactUpdate(update) => Some(&update.task_id),
        StreamResponse::Message(_) => None,
    });
    Ok(text_of(&target.get(id.ok_or("no event names the task")?).await?))
}
