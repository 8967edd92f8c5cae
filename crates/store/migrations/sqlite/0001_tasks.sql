-- Names are kept once; everything else refers to them by number.
CREATE TABLE tenants (
    key  INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- The order of the columns in the index answers "the tasks of this caller" too.
CREATE TABLE places (
    key    INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL REFERENCES tenants,
    caller TEXT NOT NULL,
    agent  TEXT NOT NULL,
    UNIQUE (tenant, caller, agent)
) STRICT;

-- How many tasks there are in each state: of a place, and in place 0 of the whole tenant.
-- Kept with every write, so that a total costs the same however many there are.
CREATE TABLE tallies (
    tenant INTEGER NOT NULL,
    place  INTEGER NOT NULL,
    state  INTEGER NOT NULL,
    tasks  INTEGER NOT NULL,
    PRIMARY KEY (tenant, place, state)
) STRICT, WITHOUT ROWID;

-- Heads only: what was said is in other tables, because a row is rewritten as a whole.
-- Numbers of tasks, webhooks and dead letters are never used again: they are handles that
-- somebody may still hold when the thing is gone.
CREATE TABLE tasks (
    key           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT NOT NULL,
    context       TEXT NOT NULL,
    tenant        INTEGER NOT NULL REFERENCES tenants,
    place         INTEGER NOT NULL REFERENCES places,
    state         INTEGER NOT NULL,
    -- The time of the status: microseconds since 1970, and the nanoseconds beyond.
    updated       INTEGER NOT NULL,
    updated_nanos INTEGER NOT NULL,
    seq           INTEGER NOT NULL,
    bytes         INTEGER NOT NULL,
    epoch         INTEGER NOT NULL,
    -- 0: nobody has it or needs to, 1: somebody has it, 2: it was given back, 3: nobody has it
    -- although the agent has the turn.
    lease         INTEGER NOT NULL,
    -- The run of the process whose clock counts, and when by that clock the lease ends, or
    -- since when an owner is needed, in microseconds since the run began.
    lease_run     INTEGER NOT NULL,
    lease_until   INTEGER NOT NULL,
    -- How often an owner was lost.
    abandoned     INTEGER NOT NULL DEFAULT 0,
    webhooks      INTEGER NOT NULL DEFAULT 0,
    -- Microseconds since 1970.
    wake_at       INTEGER,
    ended_at      INTEGER,
    -- Whether the log is gone, or must stay because it cannot be read.
    is_cut        INTEGER NOT NULL DEFAULT 0,
    UNIQUE (id, tenant)
) STRICT;

CREATE INDEX tasks_of_place ON tasks (place, state, updated, id);
CREATE INDEX tasks_of_tenant ON tasks (tenant, state, updated, id, place);
CREATE INDEX tasks_of_context ON tasks (context, place);
CREATE INDEX tasks_leased ON tasks (lease_run, lease_until) WHERE lease > 0;
CREATE INDEX tasks_waking ON tasks (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX tasks_ended ON tasks (tenant, state, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX tasks_uncut ON tasks (ended_at) WHERE ended_at IS NOT NULL AND is_cut = 0;

-- In the order in which they came, whatever their task: a table that grows at its end changes
-- a third of the pages that one ordered by task does.
CREATE TABLE events (
    key     INTEGER PRIMARY KEY,
    task    INTEGER NOT NULL REFERENCES tasks ON DELETE CASCADE,
    seq     INTEGER NOT NULL,
    kind    INTEGER NOT NULL,
    event   TEXT NOT NULL,
    message TEXT,
    UNIQUE (task, seq)
) STRICT;

-- The large columns stand last: whoever leaves them out does not read their pages.
CREATE TABLE snapshots (
    key       INTEGER PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    seq       INTEGER NOT NULL,
    task      TEXT NOT NULL,
    history   TEXT NOT NULL,
    artifacts TEXT NOT NULL
) STRICT;

-- Keys outlive tasks.
CREATE TABLE keys (
    place    INTEGER NOT NULL REFERENCES places,
    text     TEXT NOT NULL,
    request  BLOB NOT NULL,
    task     INTEGER NOT NULL,
    task_id  TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    -- Microseconds since 1970.
    used_at  INTEGER NOT NULL,
    PRIMARY KEY (place, text)
) STRICT, WITHOUT ROWID;

CREATE INDEX keys_by_age ON keys (used_at);

CREATE TABLE webhooks (
    key          INTEGER PRIMARY KEY AUTOINCREMENT,
    task         INTEGER NOT NULL REFERENCES tasks ON DELETE CASCADE,
    id           TEXT NOT NULL,
    url          TEXT NOT NULL,
    secrets      BLOB NOT NULL,
    version      TEXT NOT NULL,
    sent         INTEGER NOT NULL,
    -- How often the event behind `sent` has been tried.
    attempts     INTEGER NOT NULL DEFAULT 0,
    epoch        INTEGER NOT NULL DEFAULT 0,
    -- Microseconds since 1970; set exactly while there is something behind `sent`.
    due_at       INTEGER,
    -- As for tasks; no end while nobody has taken it.
    lease_run    INTEGER NOT NULL DEFAULT 0,
    lease_until  INTEGER,
    UNIQUE (task, id)
) STRICT;

CREATE INDEX webhooks_due ON webhooks (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE dead_letters (
    key        INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant     INTEGER NOT NULL REFERENCES tenants,
    webhook    INTEGER NOT NULL REFERENCES webhooks ON DELETE CASCADE,
    url        TEXT NOT NULL,
    seq        INTEGER NOT NULL,
    attempts   INTEGER NOT NULL,
    error      TEXT NOT NULL,
    -- Microseconds since 1970; due while it is to be sent again.
    died_at    INTEGER NOT NULL,
    due_at     INTEGER
) STRICT;

CREATE INDEX dead_letters_of_tenant ON dead_letters (tenant, key);
CREATE INDEX dead_letters_of_webhook ON dead_letters (webhook);
CREATE INDEX dead_letters_by_age ON dead_letters (died_at);
CREATE INDEX dead_letters_due ON dead_letters (due_at) WHERE due_at IS NOT NULL;

-- How often a process has opened the database. Leases of earlier runs are over.
CREATE TABLE runs (
    latest INTEGER NOT NULL
) STRICT;

INSERT INTO runs (latest) VALUES (0);
