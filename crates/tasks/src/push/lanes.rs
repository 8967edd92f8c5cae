//! Who is sent to next, so that hosts that hang hold up only each other.
//!
//! A host that has lately answered may use all of what there is. Those that nobody has heard of
//! yet may use a half, and those that lately did not answer a quarter, as may all events that
//! were tried before; each of them for itself has a quarter of what one host may use. What is
//! kept back from the worse is free for the better.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

/// So many may wait, in all and for one host.
const MOST_WAITING: usize = 2048;
const MOST_WAITING_PER_HOST: usize = 512;

/// So many hosts are remembered.
const MOST_HOSTS: usize = 4096;

/// A host that did not answer so often in a row is no longer trusted to.
const FAILURES: u32 = 3;

/// What waits for its turn, and who has the turn.
#[derive(Debug)]
pub(super) struct Lanes<T> {
    all: Room,
    per_host: usize,
    hosts: HashMap<Arc<str>, Host<T>>,
    /// Hosts for which something waits, in turn.
    ring: VecDeque<Arc<str>>,
    waiting: usize,
}

/// How good the prospects are, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    Sound,
    New,
    Doubtful,
}

/// The right to send one thing to a host, to be given back.
#[derive(Debug)]
#[must_use]
pub(super) struct Pass {
    host: Arc<str>,
    lane: Lane,
}

/// How a host behaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conduct {
    /// It answered, whatever it said.
    Answered,
    /// It did not.
    Silent,
    /// Nobody asked it.
    Unknown,
}

#[derive(Debug)]
struct Host<T> {
    room: Room,
    has_answered: bool,
    /// In a row.
    failures: u32,
    fresh: VecDeque<T>,
    retried: VecDeque<T>,
}

/// How many may be under way and are, by lane.
#[derive(Debug)]
struct Room {
    shares: [usize; 3],
    used: [usize; 3],
}

impl<T> Lanes<T> {
    /// Lets so many have their turn at once, in all and at one host.
    pub(super) fn new(at_once: usize, per_host: usize) -> Self {
        Self {
            all: Room::new([at_once, at_once / 2, at_once / 4]),
            per_host,
            hosts: HashMap::new(),
            ring: VecDeque::new(),
            waiting: 0,
        }
    }

    /// Tells whether the best of prospects would get a turn.
    pub(super) fn has_room(&self) -> bool {
        self.all.has(Lane::Sound)
    }

    /// Lets something wait for its turn; gives it back if too much waits already.
    pub(super) fn wait(&mut self, host: &str, was_tried: bool, item: T) -> Result<(), T> {
        if self.waiting >= MOST_WAITING {
            return Err(item);
        }
        let name: Arc<str> = host.into();
        let per_host = self.per_host;
        let host = self.hosts.entry(Arc::clone(&name)).or_insert_with(|| Host::new(per_host));
        let already = host.fresh.len() + host.retried.len();
        if already >= MOST_WAITING_PER_HOST {
            return Err(item);
        }
        if already == 0 {
            self.ring.push_back(name);
        }
        if was_tried { &mut host.retried } else { &mut host.fresh }.push_back(item);
        self.waiting += 1;
        Ok(())
    }

    /// Gives the next turn, if anybody can have it.
    pub(super) fn next(&mut self) -> Option<(Pass, T)> {
        for _ in 0..self.ring.len() {
            let name = self.ring.pop_front()?;
            let Some(host) = self.hosts.get_mut(&name) else { continue };
            let turn = host.take(&self.all);
            if !host.fresh.is_empty() || !host.retried.is_empty() {
                self.ring.push_back(Arc::clone(&name));
            }
            if let Some((lane, item)) = turn {
                host.room.enter(lane);
                self.all.enter(lane);
                self.waiting -= 1;
                return Some((Pass { host: name, lane }, item));
            }
        }
        None
    }

    /// Ends a turn.
    pub(super) fn finish(&mut self, pass: &Pass, conduct: Conduct) {
        self.all.leave(pass.lane);
        if let Some(host) = self.hosts.get_mut(&pass.host) {
            host.room.leave(pass.lane);
            match conduct {
                Conduct::Answered => (host.has_answered, host.failures) = (true, 0),
                Conduct::Silent => host.failures = host.failures.saturating_add(1),
                Conduct::Unknown => {}
            }
        }
        if self.hosts.len() > MOST_HOSTS {
            self.hosts.retain(|_, host| host.is_busy());
        }
    }

    /// Returns everything that waits.
    pub(super) fn drain(&mut self) -> Vec<T> {
        self.ring.clear();
        self.waiting = 0;
        let queues = self.hosts.values_mut().flat_map(|host| [&mut host.fresh, &mut host.retried]);
        queues.flat_map(|queue| queue.drain(..)).collect()
    }
}

impl<T> Host<T> {
    fn new(most: usize) -> Self {
        Self {
            room: Room::new([most, most / 4, most / 4]),
            has_answered: false,
            failures: 0,
            fresh: VecDeque::new(),
            retried: VecDeque::new(),
        }
    }

    fn lane(&self) -> Lane {
        match (self.has_answered, self.failures) {
            (true, failures) if failures < FAILURES => Lane::Sound,
            (false, 0) => Lane::New,
            _ => Lane::Doubtful,
        }
    }

    /// Takes what may have its turn, the fresh before what was tried before.
    fn take(&mut self, all: &Room) -> Option<(Lane, T)> {
        let free = |lane| self.room.has(lane) && all.has(lane);
        let lane = self.lane();
        if free(lane)
            && let Some(item) = self.fresh.pop_front()
        {
            return Some((lane, item));
        }
        let free = self.room.has(Lane::Doubtful) && all.has(Lane::Doubtful);
        let item = if free { self.retried.pop_front() } else { None };
        item.map(|item| (Lane::Doubtful, item))
    }

    fn is_busy(&self) -> bool {
        let used: usize = self.room.used.iter().sum();
        used > 0 || !self.fresh.is_empty() || !self.retried.is_empty()
    }
}

impl Room {
    fn new(shares: [usize; 3]) -> Self {
        Self { shares: shares.map(|share| share.max(1)), used: [0; 3] }
    }

    /// Tells whether one more finds room in its lane and in all better ones, each of which
    /// holds the worse ones, too.
    fn has(&self, lane: Lane) -> bool {
        self.shares.iter().enumerate().take(lane as usize + 1).all(|(lane, share)| {
            let used: usize = self.used.iter().skip(lane).sum();
            used < *share
        })
    }

    fn enter(&mut self, lane: Lane) {
        self.used[lane as usize] += 1;
    }

    fn leave(&mut self, lane: Lane) {
        self.used[lane as usize] = self.used[lane as usize].saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all_turns(lanes: &mut Lanes<u32>) -> Vec<(Pass, u32)> {
        std::iter::from_fn(|| lanes.next()).collect()
    }

    fn make_sound(lanes: &mut Lanes<u32>, host: &str) {
        lanes.wait(host, false, 0).unwrap();
        let (pass, _) = lanes.next().unwrap();
        lanes.finish(&pass, Conduct::Answered);
    }

    #[test]
    fn one_host_has_its_cap_and_the_next_turn_follows_an_end() {
        let mut lanes = Lanes::new(64, 8);
        make_sound(&mut lanes, "a");
        for number in 0..20 {
            lanes.wait("a", false, number).unwrap();
        }
        let turns = all_turns(&mut lanes);
        assert_eq!(
            turns.iter().map(|(_, number)| *number).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4, 5, 6, 7]
        );
        lanes.finish(&turns[3].0, Conduct::Answered);
        assert_eq!(lanes.next().unwrap().1, 8);
        assert!(lanes.next().is_none());
    }

    #[test]
    fn hosts_that_never_answered_leave_room_for_those_that_did() {
        let mut lanes = Lanes::new(64, 8);
        make_sound(&mut lanes, "fine");
        for host in 0..100 {
            for number in 0..20 {
                lanes.wait(&format!("hangs{host}"), number % 2 == 0, number).unwrap();
            }
        }
        assert_eq!(all_turns(&mut lanes).len(), 32);
        assert!(lanes.has_room());
        for number in 0..20 {
            lanes.wait("fine", false, 1000 + number).unwrap();
        }
        assert_eq!(all_turns(&mut lanes).len(), 8);
    }

    #[test]
    fn what_was_tried_before_has_a_quarter_of_its_host() {
        let mut lanes = Lanes::new(64, 8);
        make_sound(&mut lanes, "a");
        for number in 0..20 {
            lanes.wait("a", true, number).unwrap();
        }
        assert_eq!(all_turns(&mut lanes).len(), 2);
        lanes.wait("a", false, 100).unwrap();
        assert_eq!(lanes.next().unwrap().1, 100);
    }

    #[test]
    fn a_host_falls_silent_and_answers_again() {
        let mut lanes = Lanes::new(64, 8);
        make_sound(&mut lanes, "a");
        let mut turns = |conduct| {
            lanes.wait("a", false, 0).unwrap();
            let (pass, _) = lanes.next().unwrap();
            lanes.finish(&pass, conduct);
            pass.lane
        };
        assert_eq!(turns(Conduct::Silent), Lane::Sound);
        assert_eq!(turns(Conduct::Silent), Lane::Sound);
        assert_eq!(turns(Conduct::Silent), Lane::Sound);
        assert_eq!(turns(Conduct::Unknown), Lane::Doubtful);
        assert_eq!(turns(Conduct::Answered), Lane::Doubtful);
        assert_eq!(turns(Conduct::Answered), Lane::Sound);
    }

    #[test]
    fn waiting_has_an_end() {
        let mut lanes = Lanes::new(1, 1);
        let taken = (0..1000).filter(|number| lanes.wait("a", false, *number).is_ok()).count();
        assert_eq!(taken, MOST_WAITING_PER_HOST);
        let taken =
            (0..10_000).filter(|number| lanes.wait(&number.to_string(), false, *number).is_ok());
        assert_eq!(taken.count(), MOST_WAITING - MOST_WAITING_PER_HOST);
        assert_eq!(lanes.drain().len(), MOST_WAITING);
    }

    proptest! {
        /// Whatever happens, nothing is lost, nothing is over a limit, and nothing waits for
        /// ever once turns end.
        #[test]
        fn every_turn_comes(steps in prop::collection::vec((0..4u8, 0..6u8, any::<bool>()), 0..300)) {
            let mut lanes = Lanes::new(8, 4);
            let mut under_way: Vec<Pass> = Vec::new();
            let (mut waited, mut had) = (0, 0);
            for (step, host, flag) in steps {
                match step {
                    0 | 1 => {
                        lanes.wait(&host.to_string(), flag, 0u32).unwrap();
                        waited += 1;
                    }
                    2 => if let Some((pass, _)) = lanes.next() {
                        under_way.push(pass);
                        had += 1;
                    },
                    _ => if !under_way.is_empty() {
                        let pass = under_way.swap_remove(usize::from(host) % under_way.len());
                        lanes.finish(&pass, if flag { Conduct::Answered } else { Conduct::Silent });
                    },
                }
                prop_assert!(under_way.len() <= 8);
                for host in 0..6 {
                    let host = host.to_string();
                    prop_assert!(under_way.iter().filter(|pass| *pass.host == host).count() <= 4);
                }
            }
            for pass in under_way.drain(..) {
                lanes.finish(&pass, Conduct::Silent);
            }
            while let Some((pass, _)) = lanes.next() {
                lanes.finish(&pass, Conduct::Silent);
                had += 1;
            }
            prop_assert_eq!(waited, had);
        }
    }
}
