//! Tasks that nothing can lose: engine, event log, leases, push outbox.
