//! One request at a time, many at once.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use futures_util::StreamExt as _;
use nuncio_protocol::{
    error::Error,
    ids::{MessageId, PushConfigId, TaskId},
    message::Message,
    operation::{
        CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageConfiguration,
        SendMessageRequest, SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    service::Events,
    task::Task,
};
use nuncio_tasks::{
    engine::Call,
    scope::{Place, Scope},
    store::{Filter, Head, Page, Position, order},
};
use tokio::sync::Semaphore;

use super::{Node, TENANT, memory, name, processor_time, view};
use crate::wire::{Ask, Order, Refusal, Reply, Request, TaskName, Watched, hash};

/// How many dead letters are listed.
const DEAD_LETTERS: usize = 10_000;

/// Answers a request with as many lines as it takes.
pub(super) async fn answer(node: Arc<Node>, request: Request) {
    let Request { id, ask } = request;
    let stops = matches!(ask, Ask::Stop { .. });
    let reply = match node.carry_out(id, ask).await {
        Ok(reply) => reply,
        Err(error) => Reply::Refused(match error.downcast_ref::<Error>() {
            Some(error) => view::refusal(error),
            None => Refusal {
                kind: "Node".to_owned(),
                reason: String::new(),
                message: format!("{error:#}"),
            },
        }),
    };
    node.say(id, reply).await;
    if stops {
        node.stopped.send_replace(true);
    }
}

impl Node {
    /// Does what is asked, and returns the last line of the answer.
    async fn carry_out(self: &Arc<Self>, id: u64, ask: Ask) -> anyhow::Result<Reply> {
        Ok(match ask {
            Ask::Send(order) => {
                let (call, request) = message(order)?;
                let sent = self.tasks.send(&call, request).await?.into_task();
                task(&sent.context("the agent has answered without a task")?)
            }
            Ask::Stream(order) => {
                let (call, request) = message(order)?;
                let events = self.tasks.stream(&call, request).await?;
                self.tell(id, events, None).await?
            }
            Ask::Subscribe { task, last_event, credit } => {
                let events = self.follow(&task, last_event).await?;
                let credit = credit.map(|credit| Arc::new(Semaphore::new(credit as usize)));
                if let Some(credit) = &credit {
                    self.credits().insert(id, Arc::clone(credit));
                }
                let told = self.tell(id, events, credit).await;
                self.credits().remove(&id);
                told?
            }
            Ask::Credit { stream, more } => {
                if let Some(credit) = self.credits().get(&stream) {
                    credit.add_permits(more as usize);
                }
                Reply::Done
            }
            Ask::Watch { task, readers, stall } => self.watch(id, &task, readers, stall).await?,
            Ask::Unstall => {
                self.unstalled.send_replace(true);
                Reply::Done
            }
            Ask::Get(name) => {
                let request =
                    GetTaskRequest { tenant: None, id: task_id(&name)?, history_length: None };
                task(self.tasks.get(&call(&name)?, request).await?.value()?)
            }
            Ask::Cancel(name) => {
                let request =
                    CancelTaskRequest { tenant: None, id: task_id(&name)?, metadata: None };
                task(self.tasks.cancel(&call(&name)?, request).await?.value()?)
            }
            Ask::List { caller } => self.list(caller.as_deref()).await?,
            Ask::Logs { caller } => {
                for head in self.heads(caller.as_deref()).await? {
                    let log = view::log(&*self.store, &head).await?;
                    self.say(id, Reply::Log(log)).await;
                }
                Reply::End
            }
            Ask::Heads { caller } => {
                for head in self.heads(caller.as_deref()).await? {
                    self.say(id, Reply::Log(view::log_without_entries(&head))).await;
                }
                Reply::End
            }
            Ask::Webhook { task, id, url } => self.add_webhook(&task, &id, &url).await?,
            Ask::DeadLetters => {
                let letters = self.store.dead_letters(&scope(None)?, DEAD_LETTERS).await?;
                Reply::DeadLetters(letters.iter().map(view::dead_letter).collect())
            }
            Ask::Refusals => Reply::Refusals(view::refusals(self.tasks.refusals())),
            Ask::Memory => Reply::Memory(memory().context("read /proc/self/status")?),
            Ask::ProcessorTime => Reply::ProcessorTime(processor_time()?),
            Ask::Stop { grace } => {
                self.tasks.stop(Duration::from_millis(grace)).await;
                Reply::Done
            }
        })
    }

    /// Passes a stream on, as fast as its reader takes it.
    async fn tell(
        &self,
        id: u64,
        mut events: Events,
        credit: Option<Arc<Semaphore>>,
    ) -> anyhow::Result<Reply> {
        loop {
            if let Some(credit) = &credit {
                credit.acquire().await?.forget();
            }
            match events.next().await {
                Some(event) => self.say(id, Reply::Event(view::event(&event?))).await,
                None => return Ok(Reply::End),
            }
        }
    }

    async fn follow(&self, name: &TaskName, last_event: Option<u64>) -> anyhow::Result<Events> {
        let call = Call { last_event, ..call(name)? };
        let request = SubscribeToTaskRequest { tenant: None, id: task_id(name)? };
        Ok(self.tasks.subscribe(&call, request).await?)
    }

    /// Lets readers follow a task from its start, and waits for all of them.
    async fn watch(
        self: &Arc<Self>,
        id: u64,
        name: &TaskName,
        readers: u32,
        stall: bool,
    ) -> anyhow::Result<Reply> {
        let mut reading = Vec::new();
        for _ in 0..readers {
            let mut events = self.follow(name, Some(0)).await?;
            let mut unstalled = self.unstalled.subscribe();
            reading.push(tokio::spawn(async move {
                let (mut count, mut all) = (0, 0);
                while let Some(event) = events.next().await {
                    let event = event?;
                    count += 1;
                    all = hash(
                        &[u64::to_le_bytes(all), hash(event.response.json()).to_le_bytes()]
                            .concat(),
                    );
                    if stall && count == 1 {
                        unstalled.wait_for(|unstalled| *unstalled).await?;
                    }
                }
                anyhow::Ok((count, all))
            }));
        }
        self.say(id, Reply::Watching).await;
        let mut watched = Watched { events: Vec::new(), hashes: Vec::new() };
        for reader in reading {
            let (count, all) = reader.await??;
            watched.events.push(count);
            watched.hashes.push(all);
        }
        Ok(Reply::Watched(watched))
    }

    async fn list(&self, caller: Option<&str>) -> anyhow::Result<Reply> {
        let scope = scope(caller)?;
        let mut found = Vec::new();
        let mut request = ListTasksRequest {
            page_size: Some(100),
            history_length: Some(0),
            ..ListTasksRequest::default()
        };
        loop {
            let page = self.tasks.list_within(&scope, &[], request.clone()).await?;
            for overseen in page.tasks {
                found.push(view::task(overseen.task.value()?));
            }
            if page.next_page_token.is_empty() {
                return Ok(Reply::Tasks(found));
            }
            request.page_token = page.next_page_token;
        }
    }

    /// Finds where all tasks stand, without the engine.
    async fn heads(&self, caller: Option<&str>) -> anyhow::Result<Vec<Head>> {
        let scope = scope(caller)?;
        let mut found: Vec<Head> = Vec::new();
        loop {
            let last = found.last();
            let after =
                last.map(|head| Position { updated: order(head.updated), id: head.id.clone() });
            let page = Page { after, size: 100, history: false, artifacts: false };
            let listed = self.store.list(&scope, Filter::default(), page).await?;
            found.extend(listed.tasks.into_iter().map(|loaded| loaded.head));
            if !listed.more {
                return Ok(found);
            }
        }
    }

    async fn add_webhook(&self, name: &TaskName, id: &str, url: &str) -> anyhow::Result<Reply> {
        let mut config = TaskPushNotificationConfig::new(url);
        config.id = Some(PushConfigId::parse(id)?);
        config.task_id = Some(task_id(name)?);
        self.tasks.create_push_config(&call(name)?, config).await?;
        Ok(Reply::Done)
    }
}

fn task(task: &Task) -> Reply {
    Reply::Task(view::task(task))
}

fn message(order: Order) -> anyhow::Result<(Call, SendMessageRequest)> {
    let mut call = Call::new(place(&order.agent, &order.caller)?);
    call.key = order.key;
    let mut message = Message::user(order.text);
    message.message_id = MessageId::parse(&order.message)?;
    message.task_id = order.task.as_deref().map(TaskId::parse).transpose()?;
    let mut request = SendMessageRequest::new(message);
    request.configuration = Some(SendMessageConfiguration {
        return_immediately: order.at_once,
        task_push_notification_config: order.webhook.map(TaskPushNotificationConfig::new),
        ..SendMessageConfiguration::default()
    });
    Ok((call, request))
}

fn call(name: &TaskName) -> anyhow::Result<Call> {
    Ok(Call::new(place(&name.agent, &name.caller)?))
}

fn task_id(name: &TaskName) -> anyhow::Result<TaskId> {
    Ok(TaskId::parse(&name.id)?)
}

fn place(agent: &str, caller: &str) -> anyhow::Result<Place> {
    Ok(Place { tenant: name(TENANT)?, agent: name(agent)?, caller: name(caller)? })
}

fn scope(caller: Option<&str>) -> anyhow::Result<Scope> {
    let caller = caller.map(name).transpose()?;
    Ok(Scope { tenant: name(TENANT)?, agent: None, caller })
}
