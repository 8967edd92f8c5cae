//! The directory, as the rest of the hub uses it.

use std::{sync::Arc, time::Duration};

use nuncio_auth::{
    KeySource as _,
    rules::{Asker, Effect, MoveError, Question, Rule, Who},
};
use nuncio_hub::{
    Directory, Error,
    agent::{Agent, Card, Delivery, Origin, Status, Watch},
    beat::Beat,
    directory::{
        Actor, Below, Enrolment, Item, Network, NewAgent, Options, Patch, Query, Registrar,
        Registration,
    },
    memory::MemoryHub,
    store::HubStore,
};
use nuncio_protocol::ids::{AgentId, Organisation};

struct World {
    directory: Directory,
    store: Arc<dyn HubStore>,
    acme: Organisation,
    admin: Actor,
}

impl World {
    async fn new() -> Self {
        Self::with(Options::default()).await
    }

    async fn with(options: Options) -> Self {
        let store: Arc<dyn HubStore> = Arc::new(MemoryHub::default());
        let directory = Directory::open(Arc::clone(&store), options).await.expect("it opens");
        let acme = Organisation::parse("acme").expect("a name");
        let admin = Actor::caller(&nuncio_protocol::service::Caller::User("ann".into()));
        Self { directory, store, acme, admin }
    }

    /// Opens the same store again, as the next process would.
    async fn reopened(&self) -> Directory {
        Directory::open(Arc::clone(&self.store), Options::default()).await.expect("it opens again")
    }

    async fn add(&self, name: &str, parent: Option<&Agent>) -> Arc<Agent> {
        self.try_add(name, parent).await.expect("it can be added")
    }

    async fn try_add(&self, name: &str, parent: Option<&Agent>) -> Result<Arc<Agent>, Error> {
        let mut new = NewAgent::new(name.parse().expect("a name"));
        new.parent = parent.map(|parent| parent.id.clone());
        new.addresses.public = Some(format!("https://{name}.example").into());
        new.addresses.internal = Some(format!("https://{name}.internal").into());
        self.directory.add(&self.acme, new, Origin::Administrator, &self.admin).await
    }

    fn agent<'a>(&'a self, agent: &'a Agent) -> Asker<'a> {
        Asker::Agent { id: &agent.id, organisation: &self.acme }
    }

    fn administrator(&self) -> Asker<'_> {
        Asker::Administrator { organisation: &self.acme }
    }

    fn status(&self, agent: &Agent) -> Status {
        self.directory.state().agent(&agent.id).expect("it is known").status
    }

    async fn enrolment(&self) -> Registrar {
        let wanted = Enrolment::default();
        let issued = self.directory.new_enrolment(&self.acme, &wanted, &self.admin).await;
        Registrar::Enrolled(
            Enrolment::of(&issued.expect("it is made").record).expect("for newcomers"),
        )
    }

    async fn events(&self, after: u64) -> Vec<String> {
        let mut reader = self.directory.feed().read(self.acme.clone(), None, Some(after));
        let mut names = Vec::new();
        for _ in after..self.directory.feed().last() {
            match reader.next().await.expect("it can be read") {
                Item::Logged(logged) => names.push(logged.event.name),
                Item::Passing(passing) => panic!("{passing:?} is not in the log"),
            }
        }
        names
    }
}

fn card(name: &str, skills: &[&str]) -> Card {
    let skills = skills.iter().map(|id| {
        format!(r#"{{"id":"{id}","name":"{id}","description":"{id}","tags":["t-{id}"]}}"#)
    });
    let skills = skills.collect::<Vec<_>>().join(",");
    let text = format!(
        r#"{{"name":"{name}","description":"d","version":"1","supportedInterfaces":[{{"url":"https://a.example","protocolBinding":"JSONRPC","protocolVersion":"1.0"}}],"skills":[{skills}],"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"]}}"#
    );
    Card::parse(&text).expect("a card")
}

fn registration(id: &str, title: &str) -> Registration {
    let public = Some("https://a.example".into());
    let addresses = nuncio_hub::agent::Addresses { public, ..Default::default() };
    Registration {
        id: AgentId::parse(id).expect("an id"),
        name: None,
        card: card(title, &["write"]),
        addresses,
        delivery: None,
    }
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_restart() {
    let world = World::new().await;
    let lead = world.add("lead", None).await;
    let writer = world.add("writer", Some(&lead)).await;
    let by = world.enrolment().await;
    let registered = world
        .directory
        .register(&world.acme, registration("a-1", "SEO Agent"), &by, &world.admin)
        .await
        .unwrap();
    let token = registered.token.expect("the first time there is a token");
    let rule = Rule::new(
        "r1",
        world.acme.clone(),
        Effect::Deny,
        (Who::Any, Who::Agent(writer.id.clone())),
    );
    world.directory.put_rule(&rule, &world.admin).await.unwrap();

    let again = world.reopened().await;
    let state = again.state();
    assert_eq!(**state.agent(&writer.id).unwrap(), *writer);
    assert_eq!(state.agent(&registered.agent.id).unwrap().name.as_str(), "seo-agent");
    assert_eq!(again.find(token.id()).unwrap().id(), token.id());
    assert_eq!(state.rule("r1"), Some(&rule));
    assert_eq!(state.epoch(&world.acme), 1);
}

#[tokio::test]
async fn a_name_is_one_agents_alone_and_look_alikes_are_refused() {
    let world = World::new().await;
    world.add("billing", None).await;
    let error = world.try_add("billing", None).await.unwrap_err();
    assert!(matches!(error, Error::NameTaken { .. }), "{error}");
    let error = world.try_add("bi11ing", None).await.unwrap_err();
    assert!(matches!(error, Error::LookAlike { .. }), "{error}");

    // Another organisation has names of its own.
    let other = Organisation::parse("other").unwrap();
    let new = NewAgent::new("billing".parse().unwrap());
    world.directory.add(&other, new, Origin::Administrator, &world.admin).await.unwrap();
}

#[tokio::test]
async fn a_name_cannot_stand_before_somebodys_id_nor_an_id_behind_a_name() {
    let world = World::new().await;
    let agent = world.add("writer", None).await;
    let error = world.try_add(agent.id.as_str(), None).await.unwrap_err();
    assert!(matches!(error, Error::NameTaken { .. }), "{error}");

    let mut new = NewAgent::new("other".parse().unwrap());
    new.id = Some(AgentId::parse("writer").unwrap());
    let added = world.directory.add(&world.acme, new, Origin::Administrator, &world.admin).await;
    assert!(matches!(added, Err(Error::IdTaken { .. })), "{added:?}");
}

#[tokio::test]
async fn a_newcomer_needs_a_token_that_is_used_up() {
    let world = World::new().await;
    let register = |id: &'static str, by: Registrar| {
        let world = &world;
        async move {
            world.directory.register(&world.acme, registration(id, id), &by, &world.admin).await
        }
    };
    let by = world.enrolment().await;
    let first = register("a-1", by.clone()).await.unwrap();
    assert!(first.token.is_some());
    let error = register("a-2", by).await.unwrap_err();
    assert!(matches!(error, Error::Forbidden(_)), "{error}");

    // Somebody who is there cannot be replaced by a newcomer, nor by another agent.
    let by = world.enrolment().await;
    let error = register("a-1", by).await.unwrap_err();
    assert!(matches!(error, Error::Forbidden(_)), "{error}");
    let error =
        register("a-1", Registrar::Itself(AgentId::parse("a-9").unwrap())).await.unwrap_err();
    assert!(matches!(error, Error::Forbidden(_)), "{error}");

    let again = register("a-1", Registrar::Itself(AgentId::parse("a-1").unwrap())).await.unwrap();
    assert!(again.token.is_none(), "a token is given once");
}

#[tokio::test]
async fn two_newcomers_cannot_share_one_token() {
    let world = World::new().await;
    let by = world.enrolment().await;
    let mut registering = tokio::task::JoinSet::new();
    for number in 0..50 {
        let (directory, by) = (world.directory.clone(), by.clone());
        let (acme, admin) = (world.acme.clone(), world.admin.clone());
        registering.spawn(async move {
            let id = format!("a-{number}");
            directory.register(&acme, registration(&id, &id), &by, &admin).await.is_ok()
        });
    }
    let accepted = registering.join_all().await.into_iter().filter(|is_in| *is_in).count();
    assert_eq!(accepted, 1);
}

#[tokio::test]
async fn a_move_is_checked_takes_effect_at_once_and_raises_the_epoch() {
    let world = World::new().await;
    let root = world.add("root", None).await;
    let (left, right) =
        (world.add("left", Some(&root)).await, world.add("right", Some(&root)).await);
    let leaf = world.add("leaf", Some(&left)).await;
    let may = |one: &Agent, other: &Agent| {
        world.directory.decide(&Question::new(world.agent(one), &other.id)).is_allowed()
    };
    assert!(may(&left, &leaf) && !may(&right, &leaf));

    let before = world.directory.feed().last();
    world.directory.move_to(&world.acme, &leaf.id, Some(&right.id), &world.admin).await.unwrap();
    assert!(!may(&left, &leaf) && may(&right, &leaf));
    assert_eq!(world.directory.state().epoch(&world.acme), 1);
    assert_eq!(world.events(before).await, ["WORKSPACE_MOVED"]);

    let move_to = async |agent: &Agent, parent: &Agent| {
        let moved = world.directory.move_to(&world.acme, &agent.id, Some(&parent.id), &world.admin);
        moved.await.map(drop)
    };
    assert!(matches!(move_to(&root, &leaf).await, Err(Error::Move(MoveError::Cycle))));
    assert!(matches!(move_to(&root, &root).await, Err(Error::Move(MoveError::Itself))));
    assert_eq!(world.directory.state().epoch(&world.acme), 1, "a refused move changes nothing");
}

#[tokio::test]
async fn two_hubs_on_one_store_never_make_a_cycle_together() {
    let world = World::new().await;
    let (one, two) = (world.add("one", None).await, world.add("two", None).await);
    let other = world.reopened().await;
    let (first, second) = tokio::join!(
        world.directory.move_to(&world.acme, &one.id, Some(&two.id), &world.admin),
        other.move_to(&world.acme, &two.id, Some(&one.id), &world.admin),
    );
    assert_eq!([first.is_ok(), second.is_ok()].iter().filter(|is_ok| **is_ok).count(), 1);
    world.directory.refresh().await.unwrap();
    other.refresh().await.unwrap();
    assert_eq!(world.directory.state().version(), other.state().version());
}

#[tokio::test]
async fn heartbeats_make_events_only_when_something_changes() {
    let world = World::new().await;
    let agent = world.add("a", None).await;
    let beat =
        |error_rate| world.directory.heartbeat(&agent.id, Beat { error_rate, ..Beat::default() });
    let before = world.directory.feed().last();
    for error_rate in [0.0, 0.0, 0.6, 0.7, 0.3, 0.05, 0.0] {
        beat(error_rate).await.unwrap();
    }
    let events = world.events(before).await;
    assert_eq!(events, ["WORKSPACE_ONLINE", "WORKSPACE_DEGRADED", "WORKSPACE_ONLINE"]);
}

#[tokio::test]
async fn a_late_beat_does_not_bring_a_removed_agent_back() {
    let world = World::new().await;
    let agent = world.add("a", None).await;
    let heir = world.add("heir", None).await;
    world.directory.heartbeat(&agent.id, Beat::default()).await.unwrap();
    let removed = world
        .directory
        .remove(&world.acme, &agent.id, Below::Refuse, Some(&heir.id), &world.admin)
        .await
        .unwrap();
    assert_eq!(removed, 1);
    let error = world.directory.heartbeat(&agent.id, Beat::default()).await.unwrap_err();
    assert!(matches!(error, Error::Gone { forwarded_to: Some(_), .. }), "{error}");
    assert_eq!(world.status(&agent), Status::Removed);
    let error = world
        .directory
        .register(
            &world.acme,
            registration(agent.id.as_str(), "a"),
            &Registrar::Administrator,
            &world.admin,
        )
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Gone { .. }), "{error}");

    // Whoever asks for it is told who stands in for it, and the name is free again.
    let asker = world.administrator();
    let found = world.directory.discover(asker, agent.id.as_str(), Network::External).unwrap();
    assert!(found.is_forwarded);
    assert_eq!(found.agent.id, heir.id);
    world.add("a", None).await;
}

#[tokio::test]
async fn silence_is_noticed_and_ends_with_the_next_beat() {
    let mut options = Options::default();
    options.liveness.offline = Duration::ZERO;
    let world = World::with(options).await;
    let agent = world.add("a", None).await;
    world.directory.heartbeat(&agent.id, Beat::default()).await.unwrap();
    // The clock of the store counts milliseconds.
    while world.directory.sweep().await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.status(&agent), Status::Offline);
    assert_eq!(world.directory.sweep().await.unwrap(), 0, "only what changes is told");
    world.directory.heartbeat(&agent.id, Beat::default()).await.unwrap();
    assert_eq!(world.status(&agent), Status::Online);
}

#[tokio::test]
async fn discovery_gives_the_address_of_the_askers_network_and_only_to_those_who_may_call() {
    let world = World::new().await;
    let root = world.add("root", None).await;
    let (left, right) =
        (world.add("left", Some(&root)).await, world.add("right", Some(&root)).await);
    let leaf = world.add("leaf", Some(&left)).await;
    let discover = |asker: &Agent, target: &str, network| {
        let asker = Asker::Agent { id: &asker.id, organisation: &world.acme };
        world.directory.discover(asker, target, network)
    };
    let found = discover(&left, "right", Network::Internal).unwrap();
    assert_eq!(found.url.as_deref(), Some("https://right.internal"));
    let found = discover(&left, right.id.as_str(), Network::External).unwrap();
    assert_eq!(found.url.as_deref(), Some("https://right.example"));
    let error = discover(&right, "leaf", Network::Internal).unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error}");
    let error = discover(&leaf, "nobody", Network::Internal).unwrap_err();
    assert!(matches!(error, Error::Unknown { .. }), "{error}");
}

#[tokio::test]
async fn removing_an_agent_says_what_becomes_of_those_below() {
    let world = World::new().await;
    let root = world.add("root", None).await;
    let middle = world.add("lead", Some(&root)).await;
    let leaf = world.add("leaf", Some(&middle)).await;
    let remove = async |agent: &Agent, below| {
        world.directory.remove(&world.acme, &agent.id, below, None, &world.admin).await
    };
    assert!(matches!(remove(&middle, Below::Refuse).await, Err(Error::HasChildren { count: 1 })));
    assert_eq!(remove(&middle, Below::Lift).await.unwrap(), 1);
    let parent = world.directory.state().agent(&leaf.id).unwrap().parent.clone();
    assert_eq!(parent, Some(root.id.clone()));
    assert_eq!(remove(&root, Below::Remove).await.unwrap(), 2);
    assert_eq!(world.status(&leaf), Status::Removed);
}

#[tokio::test]
async fn a_removed_agents_tokens_are_worth_nothing() {
    let world = World::new().await;
    let agent = world.add("a", None).await;
    let issued = world.directory.new_token(&world.acme, &agent.id, &world.admin).await.unwrap();
    assert!(world.directory.find(issued.key.id()).unwrap().revoked().is_none());
    world
        .directory
        .remove(&world.acme, &agent.id, Below::Refuse, None, &world.admin)
        .await
        .unwrap();
    assert!(world.directory.find(issued.key.id()).unwrap().revoked().is_some());
}

#[tokio::test]
async fn a_card_that_says_something_else_is_held_until_somebody_agrees() {
    let world = World::with(holding()).await;
    let by = world.enrolment().await;
    let registered = world
        .directory
        .register(&world.acme, registration("a-1", "A"), &by, &world.admin)
        .await
        .unwrap();
    let id = &registered.agent.id;
    let itself = Actor::caller(&nuncio_protocol::service::Caller::Agent("a-1".into()));
    let update = |card: Card| {
        let (world, itself) = (&world, &itself);
        async move { world.directory.update_card(&world.acme, id, &card, itself).await.unwrap() }
    };
    assert!(update(card("B", &["write"])).await, "a new name is no new power");
    assert!(!update(card("B", &["write", "delete-everything"])).await);
    let skills = |directory: &Directory| {
        let state = directory.state();
        state.agent(id).unwrap().card.as_ref().unwrap().card().skills.len()
    };
    assert_eq!(skills(&world.directory), 1);
    world.directory.decide_card(&world.acme, id, true, &world.admin).await.unwrap();
    assert_eq!(skills(&world.directory), 2);
}

/// Whoever has an agent's token cannot lead its calls elsewhere by registering again.
#[tokio::test]
async fn an_address_is_not_changed_past_a_hub_that_holds_cards() {
    let world = World::with(holding()).await;
    let by = world.enrolment().await;
    let register = |url: &str, by: Registrar| {
        let mut registration = registration("a-1", "A");
        registration.addresses.public = Some(url.into());
        let (directory, acme, admin) = (&world.directory, &world.acme, &world.admin);
        async move { directory.register(acme, registration, &by, admin).await }
    };
    let registered = register("https://a.example/", by).await.unwrap();
    let itself = Registrar::Itself(registered.agent.id.clone());

    let refused = register("https://elsewhere.example/", itself.clone()).await.unwrap_err();
    assert!(refused.to_string().contains("hold_cards"), "{refused}");
    let known = register("https://a.example/", itself.clone()).await.unwrap().agent;
    assert_eq!(known.addresses.public.as_deref(), Some("https://a.example/"));

    let moved = register("https://b.example/", Registrar::Administrator).await.unwrap().agent;
    assert_eq!(moved.addresses.public.as_deref(), Some("https://b.example/"));
    register("https://b.example/", itself).await.unwrap();
}

/// Nor can it fetch them, which leads them elsewhere as well.
#[tokio::test]
async fn a_delivery_is_not_changed_past_a_hub_that_holds_cards() {
    let world = World::with(holding()).await;
    let by = world.enrolment().await;
    let register = |delivery: Option<Delivery>, by: Registrar| {
        let registration = Registration { delivery, ..registration("a-1", "A") };
        let (directory, acme, admin) = (&world.directory, &world.acme, &world.admin);
        async move { directory.register(acme, registration, &by, admin).await }
    };
    let registered = register(None, by).await.unwrap();
    let itself = Registrar::Itself(registered.agent.id.clone());

    let refused = register(Some(Delivery::Pull), itself.clone()).await.unwrap_err();
    assert!(refused.to_string().contains("`delivery`"), "{refused}");
    let known = register(Some(Delivery::Direct), itself.clone()).await.unwrap().agent;
    assert_eq!(known.delivery, Delivery::Direct);

    register(Some(Delivery::Pull), Registrar::Administrator).await.unwrap();
    let known = register(Some(Delivery::Pull), itself.clone()).await.unwrap().agent;
    assert_eq!(known.delivery, Delivery::Pull);
    register(Some(Delivery::Direct), itself).await.unwrap_err();
}

/// `nuncio serve --join` says where it is called, whatever the hub has between.
#[tokio::test]
async fn an_agent_that_is_called_through_the_hub_does_not_undo_that_itself() {
    for options in [Options::default(), holding()] {
        let world = World::with(options).await;
        let by = world.enrolment().await;
        let register = |delivery: Delivery, by: Registrar| {
            let delivery = Some(delivery);
            let registration = Registration { delivery, ..registration("a-1", "A") };
            let (directory, acme, admin) = (&world.directory, &world.acme, &world.admin);
            async move { directory.register(acme, registration, &by, admin).await.unwrap().agent }
        };
        let itself = Registrar::Itself(register(Delivery::Direct, by).await.id.clone());
        register(Delivery::Gateway, Registrar::Administrator).await;
        let known = register(Delivery::Direct, itself).await;
        assert_eq!(known.delivery, Delivery::Gateway);
        let known = register(Delivery::Direct, Registrar::Administrator).await;
        assert_eq!(known.delivery, Delivery::Direct);
    }
}

/// An agent that was made a place first says itself where it is, once.
#[tokio::test]
async fn an_agent_without_an_address_gets_its_first_one_from_itself_and_no_second() {
    let world = World::with(holding()).await;
    let (directory, acme, admin) = (&world.directory, &world.acme, &world.admin);
    let register = |id: &AgentId, url: &str, by: Registrar| {
        let mut registration = registration(id.as_str(), "A");
        registration.addresses.public = Some(url.into());
        async move { directory.register(acme, registration, &by, admin).await }
    };
    for (name, has_enrolment) in [("enrolled", true), ("known", false)] {
        let new = NewAgent::new(name.parse().unwrap());
        let agent = directory.add(acme, new, Origin::Administrator, admin).await.unwrap();
        let itself = Registrar::Itself(agent.id.clone());
        let first = if has_enrolment {
            let wanted = Enrolment { agent: Some(agent.id.clone()), ..Enrolment::default() };
            let issued = directory.new_enrolment(acme, &wanted, admin).await.unwrap();
            Registrar::Enrolled(Enrolment::of(&issued.record).unwrap())
        } else {
            itself.clone()
        };
        let there = register(&agent.id, "https://a.example/", first).await.unwrap().agent;
        assert_eq!(there.addresses.public.as_deref(), Some("https://a.example/"), "{name}");
        register(&agent.id, "https://elsewhere.example/", itself).await.unwrap_err();
    }
}

fn holding() -> Options {
    let mut options = Options::default();
    options.hold_cards = true;
    options
}

#[tokio::test]
async fn search_finds_by_skill_tag_text_and_state_a_page_at_a_time() {
    let world = World::new().await;
    for name in ["alpha", "beta", "gamma", "delta"] {
        let agent = world.add(name, None).await;
        let skills: &[&str] = if name == "gamma" { &["write", "read"] } else { &["read"] };
        world
            .directory
            .update_card(&world.acme, &agent.id, &card(name, skills), &world.admin)
            .await
            .unwrap();
    }
    let names = |query: Query| {
        let page = world.directory.search(world.administrator(), &query);
        let names: Vec<_> = page.agents.iter().map(|agent| agent.name.to_string()).collect();
        (names, page.next.map(String::from))
    };
    let query = |change: fn(&mut Query)| {
        let mut query = Query::default();
        change(&mut query);
        query
    };
    assert_eq!(names(Query::default()).0, ["alpha", "beta", "delta", "gamma"]);
    assert_eq!(names(query(|query| query.skill = Some("write".into()))).0, ["gamma"]);
    assert_eq!(names(query(|query| query.tag = Some("t-write".into()))).0, ["gamma"]);
    assert_eq!(names(query(|query| query.skill = Some("t-write".into()))).0, [""; 0]);
    assert_eq!(names(query(|query| query.capability = Some("t-read".into()))).0.len(), 4);
    assert_eq!(names(query(|query| query.text = Some("LPH".into()))).0, ["alpha"]);
    assert_eq!(names(query(|query| query.status = Some(Status::Online))).0, [""; 0]);
    let (first, next) = names(query(|query| query.limit = 3));
    assert_eq!((first.len(), next.as_deref()), (3, Some("delta")));
    let (rest, next) = names(query(|query| query.after = Some("delta".parse().unwrap())));
    assert_eq!((rest, next), (vec!["gamma".to_owned()], None));
}

#[tokio::test]
async fn searching_shows_agents_only_those_they_may_call() {
    let world = World::new().await;
    let root = world.add("root", None).await;
    let left = world.add("left", Some(&root)).await;
    world.add("right", Some(&root)).await;
    world.add("leaf", Some(&left)).await;
    world.add("stranger", None).await;
    let page = world.directory.search(world.agent(&left), &Query::default());
    let names: Vec<_> = page.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["leaf", "left", "right", "root"]);
    let peers = world.directory.peers(&left.id).unwrap();
    let names: Vec<_> = peers.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["leaf", "right", "root"]);
}

#[tokio::test]
async fn an_edit_is_one_event_and_no_edit_is_none() {
    let world = World::new().await;
    let agent = world.add("a", None).await;
    let before = world.directory.feed().last();
    let patch = Patch { role: Some("writes".to_owned()), ..Patch::default() };
    for _ in 0..3 {
        world.directory.edit(&world.acme, &agent.id, &patch, &world.admin).await.unwrap();
    }
    assert_eq!(world.events(before).await, ["AGENT_CHANGED"]);
}

#[tokio::test]
async fn every_change_is_in_the_audit_trail_which_hangs_together() {
    let world = World::new().await;
    let agent = world.add("a", None).await;
    world
        .directory
        .remove(&world.acme, &agent.id, Below::Refuse, None, &world.admin)
        .await
        .unwrap();
    let trail = world.store.audit_trail(0, 100).await.unwrap();
    nuncio_hub::audit::verify(0, nuncio_hub::audit::Link::START, &trail).unwrap();
    let bodies: Vec<_> = trail.iter().map(|line| line.body.as_str()).collect();
    assert!(bodies[0].contains(r#""by":"user:ann","action":"agent.add""#), "{bodies:?}");
    assert!(bodies[1].contains(r#""action":"agent.remove""#), "{bodies:?}");
}

#[tokio::test(start_paused = true)]
async fn md02_heartbeats_that_come_in_together_are_written_together() {
    let world = World::new().await;
    let mut agents = Vec::new();
    for name in ["ada", "bea", "cyd"] {
        let agent = world.add(name, None).await;
        world.directory.heartbeat(&agent.id, Beat::default()).await.unwrap();
        agents.push(agent);
    }
    let beat = async |agent: &Agent, active_tasks| {
        let beat = Beat { active_tasks, ..Beat::default() };
        world.directory.heartbeat(&agent.id, beat).await.unwrap();
    };
    let begun = tokio::time::Instant::now();
    beat(&agents[0], 1).await;
    assert!(begun.elapsed().is_zero(), "one that is alone waits for nobody");
    // One whose sender goes away is written with the others.
    let cut = tokio::time::timeout(Duration::from_millis(1), beat(&agents[0], 2));
    assert!(cut.await.is_err());
    tokio::join!(beat(&agents[1], 3), beat(&agents[2], 4));
    assert!(begun.elapsed() < Duration::from_millis(300), "{:?}", begun.elapsed());
    let waited = begun.elapsed();
    let failing = Beat { error_rate: 1.0, ..Beat::default() };
    let told = world.directory.heartbeat(&agents[2].id, failing).await.unwrap();
    assert_eq!((told.status, begun.elapsed()), (Status::Degraded, waited), "that is news");
    // All of it is what the database has, and the next process sees.
    let next = world.reopened().await;
    let tasks = |agent: &Agent| next.last_beat(&agent.id).map(|last| last.beat.active_tasks);
    assert_eq!(
        agents.iter().map(|agent| tasks(agent)).collect::<Vec<_>>(),
        [Some(2), Some(3), Some(0)]
    );
}

#[tokio::test]
async fn a_hosted_agent_that_has_rested_is_there_again_at_once() {
    let world = World::new().await;
    let mut new = NewAgent::new("home".parse().unwrap());
    new.watch = Watch::Hosted;
    let World { directory, acme, admin, .. } = &world;
    let agent = directory.add(acme, new, Origin::Administrator, admin).await.unwrap();
    directory.pause(acme, &agent.id, admin).await.unwrap();
    assert_eq!(world.status(&agent), Status::Paused);
    directory.resume(acme, &agent.id, admin).await.unwrap();
    assert_eq!(world.status(&agent), Status::Online);
}

#[tokio::test]
async fn a_rule_of_the_file_is_changed_in_the_file_alone() {
    let world = World::new().await;
    let World { directory, acme, admin, .. } = &world;
    let everybody = (Who::Any, Who::Any);
    let rule = Rule::new("configuration/deny", acme.clone(), Effect::Deny, everybody);
    directory.set_configured_rules(acme, std::slice::from_ref(&rule)).await.unwrap();
    let is_refused = |error: Error| error.to_string().contains("hub's file");
    assert!(is_refused(directory.remove_rule(acme, &rule.id, admin).await.unwrap_err()));
    assert!(is_refused(directory.put_rule(&rule, admin).await.unwrap_err()));
}
