//! A node that runs over a list.

use nuncio_protocol::json::Raw;

use super::run::{Progress, Unit};
use crate::{
    graph::Map,
    template::{self, Limits, Output, Rendered, Scope, elements},
};

/// The items of a list, and how far each has come.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Items {
    pub(super) values: Vec<Raw>,
    pub(super) units: Vec<Unit>,
    pub(super) outputs: Vec<Option<Output>>,
    /// The first item that failed, and why.
    pub(super) failure: Option<(u32, String)>,
    /// The first that may still be waiting.
    next: usize,
    /// How many are ready or running.
    busy: usize,
    done: usize,
}

impl Items {
    /// Finds out what the items are.
    pub(super) fn new<S: Scope + ?Sized>(
        map: &Map,
        scope: &S,
        limits: Limits,
    ) -> Result<Self, String> {
        let values = match map.over.render(scope, limits).map_err(|error| error.to_string())? {
            Rendered::Data(data) => elements(&data)
                .ok_or_else(|| format!("`over` is {}, and no list", template::sort(&data)))?,
            Rendered::Text(text) => of_text(&text),
            Rendered::File(_) => return Err("`over` is a file, and no list".to_owned()),
        };
        let most = map.max_items as usize;
        if values.len() > most {
            return Err(format!("the list has {} items, more than {most}", values.len()));
        }
        let count = values.len();
        Ok(Self {
            values,
            units: vec![Unit::new(Progress::Waiting); count],
            outputs: vec![None; count],
            failure: None,
            next: 0,
            busy: 0,
            done: 0,
        })
    }

    /// Makes ready as many as there is room for, and returns them.
    pub(super) fn admit(&mut self, map: &Map) -> Vec<u32> {
        let most = map.max_parallel.map_or(usize::MAX, |most| most as usize);
        let mut admitted = Vec::new();
        while self.failure.is_none() && self.busy < most && self.next < self.units.len() {
            self.units[self.next].progress = Progress::Ready;
            admitted.extend(u32::try_from(self.next));
            self.next += 1;
            self.busy += 1;
        }
        admitted
    }

    /// Notes that an item has ended.
    pub(super) fn end(&mut self, item: u32, output: Output) {
        if let Some(unit) = self.units.get_mut(item as usize) {
            unit.progress = Progress::Done;
            self.outputs[item as usize] = Some(output);
            self.busy = self.busy.saturating_sub(1);
            self.done += 1;
        }
    }

    /// Gives up on what has not been started, and returns it.
    pub(super) fn give_up(&mut self) -> Vec<u32> {
        let mut given_up = Vec::new();
        for (item, unit) in (0..).zip(&mut self.units) {
            if matches!(unit.progress, Progress::Waiting | Progress::Ready) {
                self.busy -= usize::from(unit.progress == Progress::Ready);
                unit.progress = Progress::Done;
                self.done += 1;
                given_up.push(item);
            }
        }
        self.next = self.units.len();
        given_up
    }

    pub(super) fn is_done(&self) -> bool {
        self.done == self.units.len()
    }

    /// Returns what came of all items.
    pub(super) fn into_output(self) -> Output {
        let absent = || Output::absent("canceled");
        Output::of_items(
            self.outputs.into_iter().map(|output| output.unwrap_or_else(absent)).collect(),
        )
    }
}

/// A text that is a JSON list, or else has an item a line.
fn of_text(text: &str) -> Vec<Raw> {
    if let Some(items) = Raw::parse_text(text.trim()).ok().as_ref().and_then(elements) {
        return items;
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(Raw::string).collect()
}
