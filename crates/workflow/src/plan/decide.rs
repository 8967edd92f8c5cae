//! What follows from what has happened.

use nuncio_protocol::task::Artifact;

use super::{
    Call, DEFAULT_BACKOFF, Ending, Event, LoopEnd, MAX_BACKOFF, Plan, Refused, Stop,
    edges::Lead,
    gather,
    items::Items,
    run::{Progress, State, Unit},
};
use crate::{
    graph::{Kind, OnError},
    template::Output,
};

/// How a call has ended.
enum Result {
    Finished(Vec<Artifact>),
    Failed(String),
    Canceled(String),
}

impl Plan {
    /// Takes in what has happened outside.
    pub(super) fn take(&mut self, event: Event) -> std::result::Result<(), Refused> {
        let refuse = |why| Err(Refused { event: event.to_string(), why });
        let Some(call) = event.call() else {
            if let Event::StopRequested { cause } = event {
                self.stop(Stop::Asked(cause));
            }
            return Ok(());
        };
        let Some(node) = self.workflow.topology().index(call.node.as_str()) else {
            return refuse("there is no such node");
        };
        if self.nodes[node].iteration != call.iteration {
            return refuse("the node is in another pass");
        }
        let at = (self.positions[node], call.item);
        let Some(unit) = self.nodes[node].unit_mut(call.item) else {
            return refuse("it is not to be worked on");
        };
        if unit.attempt != call.attempt {
            return refuse("this is another attempt");
        }
        match (&event, unit.progress) {
            (Event::Started { .. }, Progress::Ready) => {
                unit.progress = Progress::Running { asked: None, is_canceling: false };
                self.ready.remove(&at);
                self.running += 1;
            }
            (Event::Started { .. }, _) => return refuse("it was not to be started"),
            (Event::Asked { question, .. }, Progress::Running { is_canceling, .. }) => {
                unit.progress = Progress::Running { asked: Some(*question), is_canceling };
                self.asking.insert(at);
            }
            (Event::Answered { .. }, Progress::Running { asked: Some(_), is_canceling }) => {
                unit.progress = Progress::Running { asked: None, is_canceling };
                self.asking.remove(&at);
            }
            (
                Event::Finished { .. } | Event::Failed { .. } | Event::Canceled { .. },
                Progress::Running { is_canceling, .. },
            ) => {
                self.running -= 1;
                self.asking.remove(&at);
                self.canceling.remove(&at);
                self.take_end(node, event, is_canceling);
            }
            // What could not be told to anybody fails without being started.
            (Event::Failed { .. }, Progress::Ready) => {
                self.ready.remove(&at);
                self.take_end(node, event, false);
            }
            _ => return refuse("it does not run"),
        }
        Ok(())
    }

    /// Takes in how a call has ended.
    fn take_end(&mut self, node: usize, event: Event, is_canceling: bool) {
        match event {
            Event::Finished { call, artifacts } => {
                self.end(node, call.item, Result::Finished(artifacts));
            }
            Event::Failed { call, reason, is_final } => {
                self.fail(node, call.item, reason, is_final || is_canceling);
            }
            Event::Canceled { call, reason } if is_canceling => {
                self.end(node, call.item, Result::Canceled(reason));
            }
            // Nobody here has asked for it: to us that is a failure (C-39).
            Event::Canceled { call, reason } => {
                self.end(node, call.item, Result::Failed(format!("canceled: {reason}")));
            }
            _ => {}
        }
    }

    /// Decides all that can be decided.
    pub(super) fn decide(&mut self) {
        while let Some(position) = self.open.pop_first() {
            let node = self.workflow.topology().order()[position];
            if self.nodes[node].state == State::Pending {
                self.look(node);
            }
        }
    }

    /// Looks whether a node runs.
    fn look(&mut self, node: usize) {
        if self.stop.is_some() {
            let reason = self.why_stopped();
            return self.decide_event(node, |call| Event::Canceled { call, reason });
        }
        let workflow = self.workflow.clone();
        let wires = || workflow.topology().incoming(node);
        if !wires().all(|wire| self.is_settled(wire)) {
            return;
        }
        let mut is_active = wires().next().is_none();
        let mut broken = None;
        let mut why = Vec::new();
        for wire in wires() {
            match self.lead(wire) {
                Ok(Lead::Active) => is_active = true,
                Ok(Lead::Inactive(reason)) => why.push(reason),
                Ok(Lead::Broken(reason)) => broken = broken.or(Some(reason)),
                Err(reason) => {
                    return self.decide_event(node, |call| Event::Failed {
                        call,
                        reason,
                        is_final: true,
                    });
                }
            }
        }
        if let Some(reason) = broken {
            self.decide_event(node, |call| Event::Canceled { call, reason });
        } else if is_active {
            self.begin(node);
        } else {
            why.truncate(8);
            let reason = why.join(", ");
            self.decide_event(node, |call| Event::Skipped { call, reason });
        }
    }

    /// Begins with a node. What needs nobody is done at once.
    fn begin(&mut self, node: usize) {
        let workflow = self.workflow.clone();
        let call = self.whole_call(node);
        match workflow.nodes()[node].kind() {
            Kind::Input(_) => {
                let output = self.nodes[node].output.as_ref();
                let artifacts = output.into_iter().flat_map(Output::artifacts).cloned().collect();
                self.finish_at_once(node, call, Ok(artifacts));
            }
            Kind::Output(_) => {
                let gathered = gather::output(self, node, &call);
                self.finish_at_once(node, call, gathered);
            }
            Kind::Map(map) => match Items::new(map, &self.scope(&call), self.limits) {
                Err(reason) => {
                    self.decide_event(node, |call| Event::Failed { call, reason, is_final: true });
                }
                Ok(items) => {
                    self.decided.push_back(Event::Started { call });
                    self.nodes[node].state = State::Each(items);
                    self.go_on_with_items(node);
                }
            },
            _ => {
                self.nodes[node].state = State::One(Unit::new(Progress::Ready));
                self.ready.insert((self.positions[node], None));
            }
        }
    }

    fn finish_at_once(
        &mut self,
        node: usize,
        call: Call,
        gathered: std::result::Result<Vec<Artifact>, String>,
    ) {
        self.decided.push_back(Event::Started { call });
        match gathered {
            Ok(artifacts) => self.decide_event(node, |call| Event::Finished { call, artifacts }),
            Err(reason) => {
                self.decide_event(node, |call| Event::Failed { call, reason, is_final: true });
            }
        }
    }

    /// Ends a node by a decision, which belongs in the log.
    fn decide_event(&mut self, node: usize, event: impl FnOnce(Call) -> Event) {
        let event = event(self.whole_call(node));
        self.decided.push_back(event.clone());
        let ending = match event {
            Event::Finished { artifacts, .. } => {
                self.nodes[node].output = Some(Output::new(artifacts));
                Ending::Completed
            }
            Event::Failed { reason, .. } => Ending::Failed { reason, is_handled: false },
            Event::Canceled { reason, .. } => Ending::Canceled { reason },
            Event::Skipped { reason, .. } => Ending::Skipped { reason },
            _ => return,
        };
        self.end_node(node, ending);
    }

    fn whole_call(&self, node: usize) -> Call {
        let id = self.workflow.nodes()[node].id().clone();
        Call { node: id, iteration: self.nodes[node].iteration, item: None, attempt: 1 }
    }

    /// Tries again what has failed, or lets it end.
    fn fail(&mut self, node: usize, item: Option<u32>, reason: String, is_final: bool) {
        let retry = self.workflow.nodes()[node].settings().retry;
        let is_stopped = self.stop.is_some()
            || matches!(&self.nodes[node].state, State::Each(items) if items.failure.is_some());
        let Some(unit) = self.nodes[node].unit_mut(item) else { return };
        if is_final || is_stopped || unit.attempt > retry.attempts {
            return self.end(node, item, Result::Failed(reason));
        }
        let base = retry.backoff.map_or(DEFAULT_BACKOFF, crate::graph::Time::get);
        let doubled = base.saturating_mul(1_u32.checked_shl(unit.attempt - 1).unwrap_or(u32::MAX));
        unit.delay = doubled.min(MAX_BACKOFF.max(base));
        unit.attempt += 1;
        unit.progress = Progress::Ready;
        self.ready.insert((self.positions[node], item));
    }

    /// Ends a call.
    fn end(&mut self, node: usize, item: Option<u32>, result: Result) {
        let Some(item) = item else {
            let ending = match result {
                Result::Finished(artifacts) => {
                    self.nodes[node].output = Some(Output::new(artifacts));
                    Ending::Completed
                }
                Result::Failed(reason) => Ending::Failed { reason, is_handled: false },
                Result::Canceled(reason) => Ending::Canceled { reason },
            };
            return self.end_node(node, ending);
        };
        let is_ignored = self.is_ignored(node);
        let State::Each(items) = &mut self.nodes[node].state else { return };
        match result {
            Result::Finished(artifacts) => items.end(item, Output::new(artifacts)),
            Result::Canceled(_) => items.end(item, Output::absent("canceled")),
            Result::Failed(reason) => {
                items.end(item, Output::failed(reason.clone()));
                if !is_ignored && items.failure.is_none() {
                    items.failure = Some((item, reason));
                    self.cancel_units(node);
                }
            }
        }
        self.go_on_with_items(node);
    }

    /// Takes up further items of a list, or ends its node.
    fn go_on_with_items(&mut self, node: usize) {
        let workflow = self.workflow.clone();
        let Kind::Map(map) = workflow.nodes()[node].kind() else { return };
        let position = self.positions[node];
        let State::Each(items) = &mut self.nodes[node].state else { return };
        let admitted = if self.stop.is_none() { items.admit(map) } else { Vec::new() };
        self.ready.extend(admitted.into_iter().map(|item| (position, Some(item))));
        if !items.is_done() {
            return;
        }
        if let Some((item, reason)) = items.failure.take() {
            let reason = format!("item {item}: {reason}");
            return self.decide_event(node, |call| Event::Failed { call, reason, is_final: true });
        }
        if self.stop.is_some() {
            let reason = self.why_stopped();
            return self.decide_event(node, |call| Event::Canceled { call, reason });
        }
        let State::Each(items) = std::mem::replace(&mut self.nodes[node].state, State::Pending)
        else {
            return;
        };
        // What came of the items is in the log already.
        let event = Event::Finished { call: self.whole_call(node), artifacts: Vec::new() };
        self.decided.push_back(event);
        self.nodes[node].output = Some(items.into_output());
        self.end_node(node, Ending::Completed);
    }

    /// Notes how a node has ended, and what that means for loops, for what follows, and for the
    /// run.
    fn end_node(&mut self, node: usize, ending: Ending) {
        let is_failure = matches!(ending, Ending::Failed { .. });
        let output = &mut self.nodes[node].output;
        match &ending {
            Ending::Completed => {}
            Ending::Failed { reason, .. } => *output = Some(Output::failed(reason.clone())),
            // What an earlier pass has brought about is still there.
            Ending::Canceled { .. } => {
                output.get_or_insert_with(|| Output::absent("canceled"));
            }
            Ending::Skipped { .. } => {
                output.get_or_insert_with(|| Output::absent("skipped"));
            }
        }
        self.nodes[node].state = State::Ended(match ending {
            // As if it had succeeded, with nothing.
            Ending::Failed { .. } if self.is_ignored(node) => Ending::Completed,
            ending => ending,
        });
        self.unended -= 1;
        if self.end_loops(node) {
            return;
        }
        if is_failure && let State::Ended(Ending::Failed { .. }) = &self.nodes[node].state {
            let handled = self.is_handled(node);
            if let State::Ended(Ending::Failed { is_handled, .. }) = &mut self.nodes[node].state {
                *is_handled = handled;
            }
            if !handled && self.on_error(node) == OnError::FailFast && self.stop.is_none() {
                self.stop(Stop::Failed(node));
            }
        }
        let workflow = self.workflow.clone();
        self.open.extend(workflow.topology().outgoing(node).map(|wire| self.positions[wire.to]));
    }

    /// Decides about the loops that end with a node, from the innermost. Tells whether one of them
    /// runs again.
    fn end_loops(&mut self, node: usize) -> bool {
        let workflow = self.workflow.clone();
        let topology = workflow.topology();
        for &number in topology.areas_of(node) {
            let area = &topology.areas()[number];
            if area.tail != node {
                continue;
            }
            self.loops[number].end = match self.goes_on(number) {
                Ok(true) => {
                    self.repeat(number);
                    return true;
                }
                Ok(false) => Some(LoopEnd::Over),
                Err(reason) => Some(LoopEnd::Broken(reason)),
            };
            for inside in area.nodes() {
                let leaving = topology.outgoing(*inside).filter(|wire| !area.contains(wire.to));
                self.open.extend(leaving.map(|wire| self.positions[wire.to]));
            }
        }
        false
    }

    /// Makes the nodes of a loop run once more.
    fn repeat(&mut self, number: usize) {
        let workflow = self.workflow.clone();
        let areas = workflow.topology().areas();
        let area = &areas[number];
        self.loops[number].pass += 1;
        for (inner, other) in areas.iter().enumerate() {
            let is_inside = inner != number
                && area.contains(other.head)
                && area.contains(other.tail)
                && other.nodes().len() < area.nodes().len();
            if is_inside {
                self.loops[inner] = super::LoopRun { pass: 1, end: None };
            }
        }
        for &inside in area.nodes() {
            let node = &mut self.nodes[inside];
            let is_inner = |kept: usize| kept != number && area.contains(areas[kept].head);
            match node.ending() {
                Some(Ending::Completed) => node.kept_by = Some(number),
                _ if node.kept_by.is_some_and(is_inner) => node.kept_by = None,
                _ => {}
            }
            if node.ending().is_some() {
                self.unended += 1;
            }
            node.state = State::Pending;
            node.iteration += 1;
            self.open.insert(self.positions[inside]);
        }
    }

    /// Ends the run: nothing is begun any more, and what runs is canceled.
    fn stop(&mut self, stop: Stop) {
        if self.unended == 0 || matches!(self.stop, Some(Stop::Asked(_))) {
            return;
        }
        self.stop = Some(stop);
        for node in 0..self.nodes.len() {
            match &self.nodes[node].state {
                State::Pending => {
                    self.open.insert(self.positions[node]);
                }
                State::One(Unit { progress: Progress::Ready, .. }) => {
                    self.ready.remove(&(self.positions[node], None));
                    let reason = self.why_stopped();
                    self.decide_event(node, |call| Event::Canceled { call, reason });
                }
                State::One(_) | State::Each(_) => {
                    self.cancel_units(node);
                    self.go_on_with_items(node);
                }
                State::Ended(_) => {}
            }
        }
    }

    /// Gives up what has not been started of a node, and cancels the rest.
    fn cancel_units(&mut self, node: usize) {
        let position = self.positions[node];
        if let State::Each(items) = &mut self.nodes[node].state {
            for item in items.give_up() {
                self.ready.remove(&(position, Some(item)));
            }
        }
        let units: Vec<Option<u32>> = self.nodes[node].units().map(|(item, _)| item).collect();
        for item in units {
            let Some(unit) = self.nodes[node].unit_mut(item) else { continue };
            if let Progress::Running { asked, .. } = unit.progress {
                unit.progress = Progress::Running { asked, is_canceling: true };
                self.canceling.insert((position, item));
            }
        }
    }

    fn why_stopped(&self) -> String {
        match &self.stop {
            Some(Stop::Failed(node)) => {
                format!("`{}` failed, which ends the run", self.workflow.nodes()[*node].id())
            }
            Some(Stop::Asked(super::Cause::TimedOut)) => "the run took too long".to_owned(),
            _ => "the run was canceled".to_owned(),
        }
    }
}
