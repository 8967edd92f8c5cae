//! What becomes of events that are not taken, and of senders that die.

use std::{
    io,
    net::IpAddr,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use futures_util::future::BoxFuture;
use nuncio_net::{Client, Errand, Guard, Policy, Purpose, egress::Resolver};
use nuncio_protocol::push::TaskPushNotificationConfig;
use nuncio_tasks::push::{Push, Schedule, SealingKey};
use nuncio_testkit::webhook::{Answer, Receiver, Request};

use crate::push::world::{
    Doomed, KEY, World, check_order, engine, header, push, scope, seq_of, store, with_secrets,
};

/// A lease that a test can wait for.
const SHORT: Duration = Duration::from_millis(300);

fn ids(requests: &[Request]) -> Vec<&str> {
    requests.iter().map(|request| header(request, "webhook-id").expect("it has one")).collect()
}

#[tokio::test]
async fn an_event_is_repeated_until_it_is_taken_and_the_next_waits() {
    let world = World::with(|push| push.timeout(Duration::from_millis(300))).await;
    let elsewhere = world.receiver.url("/elsewhere");
    world.receiver.answer(
        "/hook",
        [
            Answer::Status(500),
            Answer::Close,
            Answer::Redirect(elsewhere),
            Answer::Hang,
            Answer::Status(299),
        ],
    );
    world.open("count 0", Some(with_secrets(world.webhook("/hook")))).await;
    let requests = world.receiver.until("/hook", 6).await;
    assert_eq!(requests.iter().map(seq_of).collect::<Vec<_>>(), [1, 1, 1, 1, 1, 2]);
    let ids = ids(&requests);
    assert!(ids[..5].iter().all(|id| *id == ids[0]));
    assert_ne!(ids[5], ids[0]);
    assert!(requests[..5].iter().all(|request| request.body == requests[0].body));
    let elsewhere =
        world.receiver.requests().into_iter().any(|request| request.path == "/elsewhere");
    assert!(!elsewhere, "a redirect was followed");
}

#[tokio::test]
async fn after_the_last_attempt_a_dead_letter_is_left_and_the_next_event_comes() {
    let world = World::with(|push| push.schedule(Schedule::new([Duration::ZERO; 2]))).await;
    world.receiver.answer("/hook", [const { Answer::Status(503) }; 3]);
    let mut config = with_secrets(world.webhook("/hook"));
    config.id = Some("mine".parse().unwrap());
    let task = world.open("count 0", Some(config)).await;
    let requests = world.receiver.until("/hook", 4).await;
    assert_eq!(requests.iter().map(seq_of).collect::<Vec<_>>(), [1, 1, 1, 2]);
    let letters = world.dead_letters(1).await;
    let letter = &letters[0];
    assert_eq!((&letter.task, letter.webhook.as_str()), (&task, "mine"));
    assert_eq!((letter.seq.0, letter.attempts), (1, 3));
    assert_eq!(letter.error, "the receiver answered 503 Service Unavailable");
    assert_eq!(letter.url, world.receiver.url("/hook"));
    let shown = format!("{letters:?}");
    assert!(!shown.contains("t0ken") && !shown.contains("cr3dentials"), "{shown}");
}

#[tokio::test]
async fn a_dead_letter_is_sent_again_on_demand() {
    let world = World::with(|push| push.schedule(Schedule::new([]))).await;
    world.receiver.answer("/hook", [Answer::Status(500), Answer::Status(200), Answer::Status(500)]);
    world.open("count 0", Some(world.webhook("/hook"))).await;
    let letters = world.dead_letters(1).await;
    world.receiver.until("/hook", 2).await;

    // Refused once more, it is there once more.
    assert!(world.tasks.resend(&scope(), letters[0].id).await.unwrap());
    world.receiver.until("/hook", 3).await;
    let again = loop {
        let letters = world.dead_letters(1).await;
        if letters[0].attempts == 2 {
            break letters;
        }
    };
    assert!(world.tasks.resend(&scope(), again[0].id).await.unwrap());
    let requests = world.receiver.until("/hook", 4).await;
    assert_eq!(requests.iter().map(seq_of).collect::<Vec<_>>(), [1, 2, 1, 1]);
    assert_eq!(header(&requests[0], "webhook-id"), header(&requests[3], "webhook-id"));
    world.dead_letters(0).await;
    assert!(!world.tasks.resend(&scope(), again[0].id).await.unwrap());
}

#[tokio::test]
async fn gone_is_given_up_at_once() {
    let world = World::start().await;
    world.receiver.answer("/hook", [Answer::Status(410)]);
    world.open("count 0", Some(world.webhook("/hook"))).await;
    let requests = world.receiver.until("/hook", 2).await;
    assert_eq!(requests.iter().map(seq_of).collect::<Vec<_>>(), [1, 2]);
    let letters = world.dead_letters(1).await;
    assert_eq!(letters[0].error, "the receiver answered 410 Gone");
}

#[tokio::test]
async fn nobody_there_is_said_so_without_the_path() {
    let world = World::with(|push| push.schedule(Schedule::new([]))).await;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut config = world.webhook("/");
    config.url = format!("http://{address}/hidden-path?key=hidden-key");
    world.open("count 0", Some(config)).await;
    let letters = world.dead_letters(2).await;
    let error = &letters[0].error;
    assert!(error.starts_with("connect to host `127.0.0.1`: "), "{error}");
    assert!(!error.contains("hidden"), "{error}");
}

#[tokio::test]
async fn a_wrong_sealing_key_makes_dead_letters_that_say_so() {
    let (store, directory) = store();
    let receiver = Receiver::start().await;
    receiver.otherwise("/hook", Answer::Hang);
    let config = with_secrets(TaskPushNotificationConfig::new(receiver.url("/hook")));
    let first = Doomed::start(&store, push(&[7; 32]).lease(SHORT), config);
    receiver.until("/hook", 1).await;
    first.freeze().await;

    let tasks = engine(&store, push(&KEY));
    let world = World { tasks, store, receiver, directory };
    for letter in world.dead_letters(6).await {
        assert!(letter.error.contains("sealing key"), "{}", letter.error);
    }
    assert_eq!(world.receiver.requests().len(), 1);
}

/// R21, without the processes: what freezes is as good as killed.
#[tokio::test]
async fn senders_that_die_lose_nothing_and_repeat_with_the_same_identifier() {
    let (store, directory) = store();
    let receiver = Receiver::start().await;
    let paths: Vec<String> = (0..5).map(|round| format!("/round{round}")).collect();
    for path in &paths {
        // The second is read and never answered: the sender dies between sending and settling.
        receiver.answer(path, [Answer::Status(200), Answer::Hang]);
        let config = TaskPushNotificationConfig::new(receiver.url(path));
        let sender = Doomed::start(&store, push(&KEY).lease(SHORT), config);
        receiver.until(path, 2).await;
        sender.freeze().await;
    }
    let tasks = engine(&store, push(&KEY));
    let world = World { tasks, store, receiver, directory };
    for path in &paths {
        // One event is repeated for sure. Others are if a sender took what another had left,
        // and died in turn.
        let mut count = 7;
        let requests = loop {
            let requests = world.receiver.until(path, count).await;
            if requests.iter().any(|request| seq_of(request) == 6) {
                break requests;
            }
            count = requests.len() + 1;
        };
        check_order(&requests, 1, 6);
        for seq in 1..=6 {
            let same: Vec<_> = requests.iter().filter(|request| seq_of(request) == seq).collect();
            assert!(seq != 2 || same.len() > 1, "the event under way was not repeated");
            for request in &same {
                assert_eq!(header(request, "webhook-id"), header(same[0], "webhook-id"));
                assert_eq!(request.body, same[0].body);
            }
        }
    }
}

/// Leads to a public address first, then to this machine.
#[derive(Debug, Default)]
struct Rebinding(AtomicBool);

impl Resolver for Rebinding {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let address =
            if self.0.swap(true, Ordering::Relaxed) { [127, 0, 0, 1] } else { [1, 1, 1, 1] };
        Box::pin(async move { Ok(vec![address.into()]) })
    }
}

#[tokio::test]
async fn a_name_that_leads_inside_by_now_is_not_called() {
    let (store, directory) = store();
    let receiver = Receiver::start().await;
    let policy = Policy::default().allow_http(Errand::caller(Purpose::Webhook));
    let client = Client::new(Guard::new(policy).resolver(Rebinding::default()));
    let push = Push::new(client, SealingKey::new(&KEY)).schedule(Schedule::new([]));
    let world = World { tasks: engine(&store, push), store, receiver, directory };
    let port = world.receiver.address().port();
    let config = TaskPushNotificationConfig::new(format!("http://hook.example:{port}/hook"));
    world.open("count 0", Some(config)).await;
    for letter in world.dead_letters(2).await {
        assert!(letter.error.contains("not public"), "{}", letter.error);
    }
    assert!(world.receiver.requests().is_empty());
}

/// Knows nobody.
#[derive(Debug)]
struct Ignorant;

impl Resolver for Ignorant {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async { Err(io::ErrorKind::NotFound.into()) })
    }
}

/// Resolvers fail for a while, and conformance kits register `example.com` where there is none.
#[tokio::test]
async fn a_name_that_nobody_knows_is_registered_and_not_called() {
    let (store, directory) = store();
    let receiver = Receiver::start().await;
    let client = Client::new(Guard::new(Policy::default()).resolver(Ignorant));
    let push = Push::new(client, SealingKey::new(&KEY)).schedule(Schedule::new([]));
    let world = World { tasks: engine(&store, push), store, receiver, directory };
    let config = TaskPushNotificationConfig::new("https://example.com/hook");
    world.open("count 0", Some(config)).await;
    for letter in world.dead_letters(2).await {
        assert!(letter.error.contains("no address"), "{}", letter.error);
    }
}

#[tokio::test]
async fn a_stop_gives_back_what_is_under_way() {
    let world = World::with(|push| push.timeout(Duration::from_secs(600))).await;
    world.receiver.answer("/hook", [Answer::Hang]);
    world.open("count 0", Some(world.webhook("/hook"))).await;
    world.receiver.until("/hook", 1).await;
    world.tasks.stop(Duration::ZERO).await;
    // The lease of the first would last much longer than the patience of this test.
    let _second = engine(&world.store, push(&KEY));
    let requests = world.receiver.until("/hook", 3).await;
    assert_eq!(requests.iter().map(seq_of).collect::<Vec<_>>(), [1, 1, 2]);
    assert_eq!(world.dead_letters(0).await.len(), 0);
}
