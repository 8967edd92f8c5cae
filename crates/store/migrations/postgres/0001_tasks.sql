-- Rows refer to one another by number and without foreign keys: a check of each reference
-- would lock and write the row it points to, and every writer holds the lock of its task.
-- Texts are ordered byte by byte. Times are the database's own.

CREATE TABLE tenants (
    key  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE
);

-- The order of the columns in the index answers "the places of this caller" too.
CREATE TABLE places (
    key    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant bigint NOT NULL,
    caller text COLLATE "C" NOT NULL,
    agent  text COLLATE "C" NOT NULL,
    UNIQUE (tenant, caller, agent)
);

-- How many tasks there are in each state: of a place, and in place 0 of the whole tenant. Each
-- writer counts in rows of its own, so that writers never wait for one another; the sum is the
-- total.
CREATE TABLE counts (
    tenant bigint NOT NULL,
    place  bigint NOT NULL,
    state  smallint NOT NULL,
    writer integer NOT NULL,
    tasks  bigint NOT NULL,
    PRIMARY KEY (tenant, place, state, writer)
) WITH (fillfactor = 50);

-- One row for each connection that writes: the last batch it has committed. Whoever loses the
-- connection at the commit finds here what became of it.
CREATE TABLE writers (
    key   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    batch bigint NOT NULL DEFAULT 0,
    seen  timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 20);

-- Heads only, so that rows stay small: they are written anew with every event. Most events
-- change no column that has an index, and then no index is touched.
CREATE TABLE tasks (
    key           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant        bigint NOT NULL,
    place         bigint NOT NULL,
    id            text COLLATE "C" NOT NULL,
    context       text COLLATE "C" NOT NULL,
    state         smallint NOT NULL,
    -- The time of the status: microseconds since 1970, and the nanoseconds beyond.
    updated       bigint NOT NULL,
    updated_nanos smallint NOT NULL,
    seq           bigint NOT NULL,
    bytes         bigint NOT NULL,
    epoch         bigint NOT NULL,
    -- 0: nobody has it or needs to, 1: somebody has it, 2: it was given back, 3: nobody has it
    -- although the agent has the turn.
    lease         smallint NOT NULL,
    lease_owner   text COLLATE "C",
    -- When the lease ends, or since when an owner is needed.
    lease_until   timestamptz,
    -- How often an owner was lost.
    abandoned     integer NOT NULL DEFAULT 0,
    wake_at       timestamptz,
    webhooks      integer NOT NULL DEFAULT 0,
    ended_at      timestamptz,
    -- Whether the log is gone.
    is_cut        boolean NOT NULL DEFAULT false,
    UNIQUE (tenant, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX tasks_of_place ON tasks (place, state, updated, id);
CREATE INDEX tasks_of_tenant ON tasks (tenant, state, updated, id);
CREATE INDEX tasks_of_context ON tasks (tenant, context, place);
-- Without the time, which changes with every renewal.
CREATE INDEX tasks_leased ON tasks (key) WHERE lease > 0;
CREATE INDEX tasks_waking ON tasks (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX tasks_ended ON tasks (tenant, state, ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX tasks_uncut ON tasks (ended_at) WHERE ended_at IS NOT NULL AND NOT is_cut;

CREATE TABLE events (
    task    bigint NOT NULL,
    seq     bigint NOT NULL,
    kind    smallint NOT NULL,
    event   text NOT NULL,
    message text,
    PRIMARY KEY (task, seq)
);

CREATE TABLE snapshots (
    task      bigint PRIMARY KEY,
    seq       bigint NOT NULL,
    head      text NOT NULL,
    history   text NOT NULL,
    artifacts text NOT NULL
);

-- Keys outlive tasks. A key may be longer than an index allows, so its hash stands for it.
CREATE TABLE keys (
    place   bigint NOT NULL,
    digest  bytea NOT NULL,
    request bytea NOT NULL,
    task    bigint NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    seq     bigint NOT NULL,
    used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (place, digest)
);

CREATE INDEX keys_by_age ON keys (used_at);

CREATE TABLE webhooks (
    key         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task        bigint NOT NULL,
    id          text COLLATE "C" NOT NULL,
    url         text NOT NULL,
    secrets     bytea NOT NULL,
    major       integer NOT NULL,
    minor       integer NOT NULL,
    sent        bigint NOT NULL,
    -- How often the event behind `sent` has been tried.
    attempts    integer NOT NULL DEFAULT 0,
    epoch       bigint NOT NULL DEFAULT 0,
    -- Set exactly while there is something behind `sent`.
    due_at      timestamptz,
    -- Set while somebody has taken it.
    taken_until timestamptz,
    UNIQUE (task, id)
) WITH (fillfactor = 70);

CREATE INDEX webhooks_due ON webhooks (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE dead_letters (
    key      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant   bigint NOT NULL,
    task     bigint NOT NULL,
    webhook  bigint NOT NULL,
    url      text NOT NULL,
    seq      bigint NOT NULL,
    attempts integer NOT NULL,
    error    text NOT NULL,
    died_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Set while it is to be sent again.
    due_at   timestamptz
);

CREATE INDEX dead_letters_of_tenant ON dead_letters (tenant, key);
CREATE INDEX dead_letters_of_task ON dead_letters (task);
CREATE INDEX dead_letters_of_webhook ON dead_letters (webhook);
CREATE INDEX dead_letters_by_age ON dead_letters (died_at);
CREATE INDEX dead_letters_due ON dead_letters (due_at) WHERE due_at IS NOT NULL;
