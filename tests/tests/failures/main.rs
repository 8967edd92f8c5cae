//! What goes wrong in the world, done to the task engine: one program, since each costs a link.

mod r01_hub;
mod r01_kill;
mod r02_nth_write;
mod r03_cuts;
mod r04_slow_readers;
mod r05_fan_out;
mod r06_same_key;
mod r08_takeover;
mod r13_clocks;
mod r16_bodies;
mod r21_webhooks;
mod r22_drain;
mod r23_disk;
mod r25_bad_agents;

mod turn;
