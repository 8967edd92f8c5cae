-- What is numbered without a gap has a row that says how far, and whoever takes the next
-- number locks it until the commit. So numbers become visible in their order, and nobody who
-- reads on from one misses another.
CREATE TABLE hub_version (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    version bigint NOT NULL,
    event   bigint NOT NULL
) WITH (fillfactor = 20);

CREATE TABLE hub_tick (
    one  boolean PRIMARY KEY DEFAULT true CHECK (one),
    tick bigint NOT NULL
) WITH (fillfactor = 20);

CREATE TABLE hub_trail (
    one  boolean PRIMARY KEY DEFAULT true CHECK (one),
    seq  bigint NOT NULL,
    link bytea NOT NULL
) WITH (fillfactor = 20);

INSERT INTO hub_version (version, event) VALUES (0, 0);
INSERT INTO hub_tick (tick) VALUES (0);
INSERT INTO hub_trail (seq, link) VALUES (0, decode(repeat('00', 32), 'hex'));

-- One that was removed keeps its row, without a body: others are yet to hear of it.
CREATE TABLE hub_records (
    kind    text COLLATE "C" NOT NULL,
    key     text COLLATE "C" NOT NULL,
    -- The version that it was last changed with.
    version bigint NOT NULL,
    body    text,
    PRIMARY KEY (kind, key)
);

CREATE INDEX hub_records_by_version ON hub_records (version);

CREATE TABLE hub_events (
    seq          bigint PRIMARY KEY,
    organisation text COLLATE "C" NOT NULL,
    name         text COLLATE "C" NOT NULL,
    agent        text COLLATE "C",
    -- Microseconds since 1970, and the nanoseconds beyond.
    at           bigint NOT NULL,
    at_nanos     smallint NOT NULL,
    payload      text NOT NULL
);

CREATE INDEX hub_events_of_organisation ON hub_events (organisation, seq);
CREATE INDEX hub_events_by_name ON hub_events (organisation, name, seq);
CREATE INDEX hub_events_of_agent ON hub_events (agent, seq) WHERE agent IS NOT NULL;

CREATE TABLE hub_beats (
    agent text COLLATE "C" PRIMARY KEY,
    tick  bigint NOT NULL,
    at    timestamptz NOT NULL,
    body  text NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX hub_beats_by_tick ON hub_beats (tick);
CREATE INDEX hub_beats_by_age ON hub_beats (at);

CREATE TABLE hub_audit (
    seq  bigint PRIMARY KEY,
    link bytea NOT NULL,
    body text NOT NULL
);
