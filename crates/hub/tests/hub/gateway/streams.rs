//! T-08 and R03: streams through the hub, whole for everybody, whatever breaks.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, future::join_all, stream};
use http::HeaderValue;
use nuncio_client::{Options, Remote};
use nuncio_protocol::{
    dialect::WireForm, operation::Request, service::Event, state::TaskState, task::StreamResponse,
};
use nuncio_testkit::random::Random;
use tokio::{sync::Barrier, task::JoinSet};

use super::{
    agents::{Served, Skilled},
    callers::{
        FORMS, at_once, begin, behind, follow, look, message, next, patiently, pieces, remote_by,
        rest, somebody, subscribe, task_of, value,
    },
    cutter::Cutter,
    stage::{Stage, counted},
    world::World,
};

fn told(events: &[Event]) -> Vec<StreamResponse> {
    events.iter().map(|event| value(event).clone()).collect()
}

/// T-08: the first event is the task, and all readers are told the same in the same order.
#[tokio::test(flavor = "multi_thread")]
async fn t08_readers_of_all_forms_are_told_the_same() {
    let world = World::start().await;
    let stage = Stage::default();
    let served = Served::script(WireForm::V03Grpc, Skilled::Streams, &stage).await;
    world.add("script", &served.url()).await;
    let ann = world.key("ann").await;
    let remotes = FORMS.map(|form| world.remote(&ann, "script", form));
    let task = begin(&remotes[0], at_once("gated:all:40")).await;
    let mut readers = Vec::new();
    for index in 0..24 {
        let remote = &remotes[index % remotes.len()];
        let mut events = follow(remote, somebody(), subscribe(&task.id)).await;
        let first = next(&mut events).await;
        assert!(matches!(value(&first), StreamResponse::Task(_)), "first {first:?}");
        readers.push(events);
    }
    stage.open("all", 40);
    let all = join_all(readers.into_iter().map(rest)).await;
    for events in &all {
        assert_eq!(pieces(events), counted(40));
        assert_eq!(told(events), told(&all[0]));
    }
}

/// T-08: who reads slowly holds up neither the agent nor the others, and misses nothing.
#[tokio::test(flavor = "multi_thread")]
async fn t08_a_slow_reader_holds_up_nobody_and_misses_nothing() {
    const PIECES: u32 = 3_000;
    let world = World::start().await;
    let stage = Stage::default();
    let served = Served::script(WireForm::V1, Skilled::Resumes, &stage).await;
    world.add("script", &served.url()).await;
    let ann = world.key("ann").await;
    let remote = world.remote(&ann, "script", WireForm::V1);
    let text = format!("gated:slow:{PIECES}");
    let mut slow = follow(&remote, somebody(), Request::SendStreamingMessage(message(&text))).await;
    let first = next(&mut slow).await;
    let quick = world.remote(&ann, "script", WireForm::V1Http);
    let quick = follow(&quick, somebody(), subscribe(task_of(&first))).await;
    stage.open("slow", PIECES as usize);
    // The quick one is done before the slow one begins.
    assert_eq!(pieces(&rest(quick).await), counted(PIECES));
    stage.has_stopped("slow").await;
    let mut events = vec![first];
    events.extend(rest(slow).await);
    assert_eq!(pieces(&events), counted(PIECES));
    let numbers: Vec<_> = events.iter().filter_map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
}

/// A caller whose way to the hub breaks, too.
fn broken(way: SocketAddr, key: &str, form: WireForm) -> Remote {
    let mut options = Options::default();
    let value = HeaderValue::try_from(format!("Bearer {key}")).expect("a key is text");
    options.headers.insert(http::header::AUTHORIZATION, value);
    impatient(&mut options);
    remote_by(way, "script", form, options)
}

/// Notices silence soon, and comes back soon.
fn impatient(options: &mut Options) {
    options.clocks.idle = Duration::from_millis(700);
    options.clocks.first_byte = Duration::from_secs(2);
    options.resumes.pause = Duration::from_millis(5);
    options.resumes.longest = Duration::from_millis(100);
    options.resumes.in_vain = 50;
    options.breaker.in_a_row = 10_000;
    options.breaker.in_window = 10_000;
}

/// R03: cuts on both sides of the hub. Each stream gets all there is, once and in order.
async fn check_cuts(agent: WireForm, skilled: Skilled, mut chance: Random) {
    const STREAMS: usize = 6;
    const PIECES: u32 = 30;
    let what = format!("{} {skilled:?}", agent.name());
    let world = World::with(|settings| {
        impatient(&mut settings.options);
        settings.limits.clocks.idle = settings.options.clocks.idle;
        settings.limits.clocks.first_byte = settings.options.clocks.first_byte;
    })
    .await;
    let stage = Stage::default();
    let mut far = Cutter::by_chance(STREAMS * 2, chance.fork()).await;
    let served = Served::behind(far.address, agent, skilled, &stage).await;
    far.lead_to(served.address);
    let mut near = Cutter::by_chance(STREAMS * 2, chance.fork()).await;
    near.lead_to(world.address);
    world.add("script", &served.url()).await;
    let ann = world.key("ann").await;
    let mut readers = JoinSet::new();
    let all_begun = Arc::new(Barrier::new(STREAMS));
    for index in 0..STREAMS {
        let form = FORMS[index % FORMS.len()];
        let remote = broken(near.address, &ann, form);
        let sure = world.remote(&ann, "script", form);
        let (what, stage) = (format!("{what} {index} in {}", form.name()), stage.clone());
        let (mut random, all_begun) = (chance.fork(), Arc::clone(&all_begun));
        readers.spawn(async move {
            let name = format!("cut-{index}");
            let text = format!("gated:{name}:{PIECES}");
            let request = Request::SendStreamingMessage(message(&text));
            let mut events = follow(&remote, somebody(), request).await;
            let mut seen = vec![next(&mut events).await];
            let id = task_of(&seen[0]).clone();
            // A message that is cut off is another matter, and gRPC has all in one connection.
            all_begun.wait().await;
            let mut left = PIECES as usize;
            while let Some(event) = {
                // A few at a time, so that cuts fall between and within.
                let some = left.min(1 + usize::try_from(random.below(4)).expect("a few"));
                stage.open(&name, some);
                left -= some;
                patiently(events.next()).await
            } {
                match event {
                    Ok(event) => seen.push(event),
                    Err(error) => panic!(
                        "{what}: {error:?}, {left} left, saw {}, task {:?}",
                        pieces(&seen),
                        look(&sure, &id).await
                    ),
                }
            }
            assert_eq!(pieces(&seen), counted(PIECES), "{what}");
            let last = value(seen.last().expect("there are events"));
            assert_eq!(last.state(), Some(TaskState::Completed), "{what}");
            assert_eq!(stage.begun(&name), 1, "{what}");
            // What was pieced together is what somebody gets who was never cut.
            let whole = rest(follow(&sure, behind(0), subscribe(&id)).await).await;
            assert_eq!(pieces(&whole), counted(PIECES), "{what}");
            if whole.iter().all(|event| event.seq.is_some()) {
                assert_eq!(told(&seen), told(&whole), "{what}");
            }
        });
    }
    while let Some(read) = readers.join_next().await {
        read.expect("no reader fails");
    }
}

/// Agents of all forms, a few at a time: who is too busy takes others for silent.
async fn check_cuts_of_all(skilled: Skilled, random: &mut Random) {
    let checks = FORMS.map(|form| check_cuts(form, skilled, random.fork()));
    Box::pin(stream::iter(checks).buffer_unordered(2).collect::<Vec<()>>()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r03_cuts_on_both_sides_lose_nothing_and_repeat_nothing() {
    let mut random = Random::new();
    Box::pin(check_cuts_of_all(Skilled::Resumes, &mut random)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r03_cuts_lose_nothing_where_the_agent_numbers_nothing() {
    let mut random = Random::new();
    Box::pin(check_cuts_of_all(Skilled::Streams, &mut random)).await;
}
