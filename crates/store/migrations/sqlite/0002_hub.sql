-- How often records have changed, and how often a heartbeat came: one row.
CREATE TABLE hub_state (
    version INTEGER NOT NULL,
    tick    INTEGER NOT NULL
) STRICT;

INSERT INTO hub_state (version, tick) VALUES (0, 0);

-- One that was removed keeps its row, without a body: others are yet to hear of it.
CREATE TABLE hub_records (
    kind    TEXT NOT NULL,
    key     TEXT NOT NULL,
    -- The version that it was last changed with.
    version INTEGER NOT NULL,
    body    TEXT,
    PRIMARY KEY (kind, key)
) STRICT;

CREATE INDEX hub_records_by_version ON hub_records (version);

CREATE TABLE hub_events (
    seq          INTEGER PRIMARY KEY,
    organisation TEXT NOT NULL,
    name         TEXT NOT NULL,
    agent        TEXT,
    -- Microseconds since 1970, and the nanoseconds beyond.
    at           INTEGER NOT NULL,
    at_nanos     INTEGER NOT NULL,
    payload      TEXT NOT NULL
) STRICT;

-- Every index ends with the seq, because that is what SQLite finds rows by.
CREATE INDEX hub_events_of_organisation ON hub_events (organisation);
CREATE INDEX hub_events_by_name ON hub_events (organisation, name);
CREATE INDEX hub_events_of_agent ON hub_events (agent) WHERE agent IS NOT NULL;

CREATE TABLE hub_beats (
    agent   TEXT PRIMARY KEY,
    tick    INTEGER NOT NULL,
    -- Microseconds since 1970.
    at      INTEGER NOT NULL,
    -- The run of the process that took it, and microseconds since that run began. Silence is
    -- counted by this clock, which nobody can set, as long as the run lasts.
    run     INTEGER NOT NULL,
    elapsed INTEGER NOT NULL,
    body    TEXT NOT NULL
) STRICT;

CREATE INDEX hub_beats_by_tick ON hub_beats (tick);
CREATE INDEX hub_beats_by_age ON hub_beats (run, elapsed);

CREATE TABLE hub_audit (
    seq  INTEGER PRIMARY KEY,
    link BLOB NOT NULL,
    body TEXT NOT NULL
) STRICT;
