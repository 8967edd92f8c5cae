//! What callers may register, and what they see of it afterwards.

use nuncio_net::{Client, Guard, Policy};
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::{PushConfigId, TaskId},
    message::Message,
    operation::{
        DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigsRequest, SendMessageConfiguration, SendMessageRequest,
    },
    push::{AuthenticationInfo, TaskPushNotificationConfig},
    version::Version,
};
use nuncio_tasks::{
    engine::{Call, Tasks, reasons},
    push::{Push, SealingKey},
    store::Store as _,
};
use nuncio_testkit::webhook::Receiver;

use crate::push::world::{KEY, World, call, call_of, engine, open, push, store, with_secrets};

fn config_id(id: &str) -> PushConfigId {
    PushConfigId::parse(id).expect("identifiers in tests are short")
}

fn get(task: &TaskId, id: &str) -> GetTaskPushNotificationConfigRequest {
    let id = config_id(id);
    GetTaskPushNotificationConfigRequest { tenant: None, task_id: task.clone(), id }
}

fn delete(task: &TaskId, id: &str) -> DeleteTaskPushNotificationConfigRequest {
    let id = config_id(id);
    DeleteTaskPushNotificationConfigRequest { tenant: None, task_id: task.clone(), id }
}

fn list(task: &TaskId, size: i32, token: &str) -> ListTaskPushNotificationConfigsRequest {
    ListTaskPushNotificationConfigsRequest {
        tenant: None,
        task_id: task.clone(),
        page_size: size,
        page_token: token.to_owned(),
    }
}

fn named(
    mut config: TaskPushNotificationConfig,
    task: &TaskId,
    id: &str,
) -> TaskPushNotificationConfig {
    config.task_id = Some(task.clone());
    config.id = Some(config_id(id));
    config
}

async fn ids(tasks: &Tasks, call: &Call, task: &TaskId) -> Vec<String> {
    let page = tasks.list_push_configs(call, list(task, 0, "")).await;
    let configs = page.expect("the task is there").configs;
    configs.into_iter().map(|config| config.id.expect("it has one").to_string()).collect()
}

#[tokio::test]
async fn creating_echoes_and_reading_hides_secrets() {
    let world = World::start().await;
    let task = world.open("hold", None).await;
    let config = named(with_secrets(world.webhook("/hook")), &task, "mine");
    let created = world.tasks.create_push_config(&call(), config.clone()).await.unwrap();
    assert_eq!(created, config);

    let mut shown = config;
    shown.token = String::new();
    shown.authentication =
        Some(AuthenticationInfo { scheme: "Bearer".to_owned(), credentials: String::new() });
    let found = world.tasks.get_push_config(&call(), get(&task, "mine")).await.unwrap();
    assert_eq!(found, shown);
    let page = world.tasks.list_push_configs(&call(), list(&task, 0, "")).await.unwrap();
    assert_eq!(page.configs, [shown]);
    assert_eq!(page.next_page_token, "");
}

#[tokio::test]
async fn an_identifier_is_made_if_none_is_given() {
    let world = World::start().await;
    let task = world.open("hold", None).await;
    let first = world.register(&task, "/hook").await;
    let second = world.register(&task, "/hook").await;
    assert_ne!(first, second);
    assert_eq!(ids(&world.tasks, &call(), &task).await, [first.to_string(), second.to_string()]);
}

#[tokio::test]
async fn the_same_identifier_again_replaces() {
    let world = World::start().await;
    let task = world.open("hold", None).await;
    for path in ["/one", "/two"] {
        let config = named(world.webhook(path), &task, "mine");
        world.tasks.create_push_config(&call(), config).await.unwrap();
    }
    let found = world.tasks.get_push_config(&call(), get(&task, "mine")).await.unwrap();
    assert_eq!(found.url, world.receiver.url("/two"));
    assert_eq!(ids(&world.tasks, &call(), &task).await, ["mine"]);
}

#[tokio::test]
async fn the_eleventh_webhook_is_too_many() {
    let world = World::start().await;
    let task = world.open("hold", None).await;
    for number in 0..10 {
        let config = named(world.webhook("/hook"), &task, &number.to_string());
        world.tasks.create_push_config(&call(), config).await.unwrap();
    }
    let config = named(world.webhook("/hook"), &task, "10");
    let error = world.tasks.create_push_config(&call(), config.clone()).await.unwrap_err();
    assert_eq!((error.kind(), error.reason()), (ErrorKind::InvalidParams, reasons::TOO_MANY));
    let error = send_inline(&world.tasks, Some(&task), config).await.unwrap_err();
    assert_eq!((error.kind(), error.reason()), (ErrorKind::InvalidParams, reasons::TOO_MANY));
    // Replacing one of the ten is fine, either way.
    let config = named(world.webhook("/other"), &task, "3");
    world.tasks.create_push_config(&call(), config.clone()).await.unwrap();
    send_inline(&world.tasks, Some(&task), config).await.unwrap();
}

#[tokio::test]
async fn pages_follow_each_other_and_a_foreign_token_is_refused() {
    let world = World::start().await;
    let task = world.open("hold", None).await;
    let other = world.open("hold", None).await;
    for id in ["a", "b", "c", "d", "e"] {
        let config = named(world.webhook("/hook"), &task, id);
        world.tasks.create_push_config(&call(), config).await.unwrap();
    }
    let mut token = String::new();
    let mut pages = Vec::new();
    loop {
        let page = world.tasks.list_push_configs(&call(), list(&task, 2, &token)).await.unwrap();
        let found: String =
            page.configs.iter().map(|config| config.id.as_ref().unwrap().as_str()).collect();
        pages.push(found);
        // The last one of a page may go before the next is asked for.
        let last = page.configs.last().unwrap().id.as_ref().unwrap();
        world.tasks.delete_push_config(&call(), delete(&task, last.as_str())).await.unwrap();
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
        let foreign = world.tasks.list_push_configs(&call(), list(&other, 2, &token)).await;
        assert_eq!(violation(&foreign.unwrap_err()), "pageToken");
    }
    assert_eq!(pages, ["ab", "cd", "e"]);
    let spoilt = world.tasks.list_push_configs(&call(), list(&task, 2, "spoilt")).await;
    assert_eq!(violation(&spoilt.unwrap_err()), "pageToken");
}

#[tokio::test]
async fn deleting_twice_is_deleting_once() {
    let world = World::start().await;
    let task = world.open("hold", None).await;
    let id = world.register(&task, "/hook").await;
    for _ in 0..2 {
        world.tasks.delete_push_config(&call(), delete(&task, id.as_str())).await.unwrap();
    }
    let missing = world.tasks.get_push_config(&call(), get(&task, id.as_str())).await;
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::TaskNotFound);
    assert!(ids(&world.tasks, &call(), &task).await.is_empty());
}

#[tokio::test]
async fn a_foreign_task_is_no_task() {
    let world = World::start().await;
    let task = world.open("hold", None).await;
    world.register(&task, "/hook").await;
    let missing = Error::task_not_found(&task);
    let bob = call_of("bob");
    let config = named(world.webhook("/spy"), &task, "spy");
    let tasks = &world.tasks;
    assert_eq!(tasks.create_push_config(&bob, config).await.unwrap_err(), missing);
    assert_eq!(tasks.get_push_config(&bob, get(&task, "x")).await.unwrap_err(), missing);
    assert_eq!(tasks.list_push_configs(&bob, list(&task, 0, "")).await.unwrap_err(), missing);
    assert_eq!(tasks.delete_push_config(&bob, delete(&task, "x")).await.unwrap_err(), missing);
    assert_eq!(ids(tasks, &call(), &task).await.len(), 1);
}

#[tokio::test]
async fn without_a_sender_there_are_no_webhooks() {
    let (store, _directory) = store();
    let tasks = Tasks::builder(std::sync::Arc::new(store))
        .agent(crate::push::world::name("teller"), crate::push::world::Teller)
        .start();
    let task = open(&tasks, &call(), "hold", None).await;
    let config = named(TaskPushNotificationConfig::new("https://example.com"), &task, "x");
    let errors = [
        tasks.create_push_config(&call(), config.clone()).await.unwrap_err(),
        tasks.get_push_config(&call(), get(&task, "x")).await.unwrap_err(),
        tasks.list_push_configs(&call(), list(&task, 0, "")).await.unwrap_err(),
        tasks.delete_push_config(&call(), delete(&task, "x")).await.unwrap_err(),
        send_inline(&tasks, None, config).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::PushNotificationNotSupported);
    }
}

/// Sends a message with a webhook.
async fn send_inline(
    tasks: &Tasks,
    task: Option<&TaskId>,
    config: TaskPushNotificationConfig,
) -> Result<(), Error> {
    let mut message = Message::user("hold");
    message.task_id = task.cloned();
    let mut request = SendMessageRequest::new(message);
    request.configuration = Some(SendMessageConfiguration {
        task_push_notification_config: Some(config),
        return_immediately: true,
        ..SendMessageConfiguration::default()
    });
    tasks.send(&call(), request).await.map(drop)
}

fn violation(error: &Error) -> &str {
    assert_eq!(error.kind(), ErrorKind::InvalidParams, "{error:?}");
    &error.violations()[0].field
}

/// Registers in both ways what must not be registered, and returns what callers are told.
async fn refused(world: &World, config: TaskPushNotificationConfig, member: &str) -> String {
    let task = world.open("hold", None).await;
    let config = named(config, &task, "x");
    let error = world.tasks.create_push_config(&call(), config.clone()).await;
    let error = error.expect_err("it must not be registered");
    assert_eq!(violation(&error), member);
    let inline = send_inline(&world.tasks, None, config).await;
    let inline = inline.expect_err("it must not be registered with a message");
    assert_eq!(violation(&inline), format!("configuration.taskPushNotificationConfig.{member}"));
    assert!(ids(&world.tasks, &call(), &task).await.is_empty());
    format!("{error:?} {inline:?}")
}

#[tokio::test]
async fn what_would_break_a_header_is_refused_and_not_repeated() {
    let world = World::start().await;
    for spoilt in ["t0p-secret\r\nx-evil: 1", "t0p-secret\n", "t0p-secret\0"] {
        let mut config = world.webhook("/hook");
        config.token = spoilt.to_owned();
        assert!(!refused(&world, config, "token").await.contains("t0p-secret"));

        let mut config = world.webhook("/hook");
        let (scheme, credentials) = ("Bearer".to_owned(), spoilt.to_owned());
        config.authentication = Some(AuthenticationInfo { scheme, credentials });
        let told = refused(&world, config, "authentication.credentials").await;
        assert!(!told.contains("t0p-secret"));

        let mut config = world.webhook("/hook");
        let (scheme, credentials) = (spoilt.to_owned(), "x".to_owned());
        config.authentication = Some(AuthenticationInfo { scheme, credentials });
        assert!(!refused(&world, config, "authentication.scheme").await.contains("t0p-secret"));
    }
    assert!(world.receiver.requests().is_empty());
}

#[tokio::test]
async fn a_private_url_is_refused_with_its_reason_and_never_called() {
    let (store, directory) = store();
    let client = Client::new(Guard::new(
        Policy::default().allow_http(nuncio_net::Errand::caller(nuncio_net::Purpose::Webhook)),
    ));
    let tasks = engine(&store, Push::new(client, SealingKey::new(&KEY)));
    let world = World { tasks, store, receiver: Receiver::start().await, directory };
    let port = world.receiver.address().port();
    for host in ["127.0.0.1", "127.1", "0x7f.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"] {
        let config = TaskPushNotificationConfig::new(format!("http://{host}:{port}/hook"));
        let told = refused(&world, config, "url").await;
        assert!(told.contains("not public") && told.contains("; "), "{told}");
    }
    let told = refused(&world, TaskPushNotificationConfig::new("ftp://example.com"), "url").await;
    assert!(told.contains("scheme"), "{told}");
    assert!(world.receiver.requests().is_empty());
}

#[tokio::test]
async fn secrets_do_not_reach_the_store() {
    let world = World::start().await;
    let task = world.open("hold", Some(with_secrets(world.webhook("/inline")))).await;
    let config = named(with_secrets(world.webhook("/hook")), &task, "mine");
    world.tasks.create_push_config(&call(), config).await.unwrap();
    world.receiver.until("/inline", 1).await;

    let head = world.store.find(&crate::push::world::scope(), &task).await.unwrap().unwrap();
    let webhooks = world.store.webhooks(head.reference).await.unwrap();
    assert_eq!(webhooks.len(), 2);
    world.tasks.stop(std::time::Duration::ZERO).await;
    world.store.close().await;
    let mut files = 0;
    for file in std::fs::read_dir(world.directory.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for secret in ["t0ken-of-ann", "cr3dentials-of-ann", "Bearer"] {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
        }
        files += usize::from(bytes.len() > 1000);
    }
    assert!(files > 0, "there is a database to look at");
}

#[tokio::test]
async fn a_caller_of_0_3_sets_its_one_webhook_and_gets_it_by_the_task() {
    let world = World::start().await;
    let task = world.open("hold", None).await;
    let mut old = call();
    old.version = Version::V0_3;
    for path in ["/one", "/two"] {
        let mut config = world.webhook(path);
        config.task_id = Some(task.clone());
        let created = world.tasks.create_push_config(&old, config).await.unwrap();
        assert_eq!(created.id.unwrap().as_str(), task.as_str());
    }
    assert_eq!(ids(&world.tasks, &call(), &task).await, [task.as_str()]);
    let found = world.tasks.get_push_config(&old, get(&task, task.as_str())).await.unwrap();
    assert_eq!(found.url, world.receiver.url("/two"));
}

#[tokio::test]
async fn the_task_alone_names_its_first_webhook() {
    let world = World::start().await;
    let task = world.open("hold", None).await;
    let by_task = get(&task, task.as_str());
    let none = world.tasks.get_push_config(&call(), by_task.clone()).await;
    assert_eq!(none.unwrap_err().kind(), ErrorKind::TaskNotFound);
    let first = world.register(&task, "/one").await;
    world.register(&task, "/two").await;
    let found = world.tasks.get_push_config(&call(), by_task).await.unwrap();
    assert_eq!(found.id, Some(first));
}

#[tokio::test]
async fn another_key_shows_webhooks_without_their_scheme() {
    let world = World::start().await;
    let task = world.open("hold", None).await;
    let config = named(with_secrets(world.webhook("/hook")), &task, "mine");
    world.tasks.create_push_config(&call(), config).await.unwrap();
    let other = engine(&world.store, push(&[1; 32]));
    let found = other.get_push_config(&call(), get(&task, "mine")).await.unwrap();
    assert_eq!(found.authentication, None);
    assert_eq!(found.url, world.receiver.url("/hook"));
}
