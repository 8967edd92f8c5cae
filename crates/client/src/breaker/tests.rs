use proptest::prelude::*;

use super::*;

const TRIP: Trip = Trip { in_a_row: 3, in_window: 16, pause: Duration::from_secs(10) };

fn fail(circuit: &mut Circuit, now: Instant) {
    let leave = circuit.ask(now).expect("it is closed");
    circuit.tell(leave, Outcome::Failed, now);
}

#[test]
fn failures_in_a_row_open_it_and_an_answer_between_does_not() {
    let now = Instant::now();
    let mut circuit = Circuit::new(TRIP);
    fail(&mut circuit, now);
    fail(&mut circuit, now);
    let leave = circuit.ask(now).unwrap();
    circuit.tell(leave, Outcome::Answered, now);
    fail(&mut circuit, now);
    fail(&mut circuit, now);
    assert!(circuit.ask(now).is_ok());
    fail(&mut circuit, now);
    assert_eq!(circuit.ask(now), Err(TRIP.pause));
}

#[test]
fn every_second_call_failing_opens_it_too() {
    let now = Instant::now();
    let mut circuit = Circuit::new(TRIP);
    for _ in 0..16 {
        fail(&mut circuit, now);
        if let Ok(leave) = circuit.ask(now) {
            circuit.tell(leave, Outcome::Answered, now);
        }
    }
    assert!(circuit.ask(now).is_err());
}

#[test]
fn one_call_probes_and_decides() {
    let now = Instant::now();
    let later = now + TRIP.pause;
    let mut circuit = Circuit::new(TRIP);
    (0..3).for_each(|_| fail(&mut circuit, now));
    let probe = circuit.ask(later).unwrap();
    assert!(circuit.ask(later).is_err());
    circuit.tell(probe, Outcome::Failed, later);
    assert_eq!(circuit.ask(later), Err(TRIP.pause));
    let later = later + TRIP.pause;
    let probe = circuit.ask(later).unwrap();
    circuit.tell(probe, Outcome::Answered, later);
    assert!(circuit.ask(later).is_ok());
    assert!(circuit.ask(later).is_ok());
}

#[test]
fn a_probe_that_nobody_waited_for_lets_the_next_one_try() {
    let now = Instant::now();
    let later = now + TRIP.pause;
    let mut circuit = Circuit::new(TRIP);
    (0..3).for_each(|_| fail(&mut circuit, now));
    let probe = circuit.ask(later).unwrap();
    circuit.tell(probe, Outcome::Unknown, later);
    assert!(circuit.ask(later).is_ok());
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Ask,
    Tell(prop::sample::Index, Outcome),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let outcome = prop::sample::select(vec![Outcome::Answered, Outcome::Failed, Outcome::Unknown]);
    prop_oneof![
        3 => Just(Step::Ask),
        3 => (any::<prop::sample::Index>(), outcome).prop_map(|(at, out)| Step::Tell(at, out)),
        1 => (0_u64..15).prop_map(Step::Wait),
    ]
}

proptest! {
    /// Whatever happens: nobody is let through before the pause is over, one at most while it
    /// is being tried, and it never stays shut for good.
    #[test]
    fn it_is_never_shut_for_good_nor_probed_twice(steps in prop::collection::vec(step(), 0..200)) {
        let mut now = Instant::now();
        let mut circuit = Circuit::new(TRIP);
        let mut under_way = Vec::new();
        for step in steps {
            match step {
                Step::Ask => {
                    let before = circuit.state;
                    match circuit.ask(now) {
                        Ok(leave) => {
                            prop_assert_ne!(before, State::Probing);
                            if let State::Open(until) = before {
                                prop_assert!(now >= until);
                            }
                            under_way.push(leave);
                        }
                        Err(wait) => prop_assert!(wait <= TRIP.pause),
                    }
                }
                Step::Tell(at, outcome) if !under_way.is_empty() => {
                    let leave = under_way.swap_remove(at.index(under_way.len()));
                    circuit.tell(leave, outcome, now);
                }
                Step::Tell(..) => {}
                Step::Wait(seconds) => now += Duration::from_secs(seconds),
            }
        }
        // Whoever is still under way gives up, and after the pause somebody gets through.
        for leave in under_way {
            circuit.tell(leave, Outcome::Unknown, now);
        }
        prop_assert!(circuit.ask(now + TRIP.pause).is_ok());
    }
}
