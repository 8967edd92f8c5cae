-- What only some tasks have stands apart, so that the others cost nothing for it.
CREATE TABLE notes (
    task bigint PRIMARY KEY,
    note bytea NOT NULL
) WITH (fillfactor = 70);

-- The task of the same tenant that a task was opened for, which may be gone.
CREATE TABLE parents (
    task   bigint PRIMARY KEY,
    tenant bigint NOT NULL,
    parent text COLLATE "C" NOT NULL
);

CREATE INDEX parents_of ON parents (tenant, parent, task);

-- The key that opened a task, to be found when it is let go.
CREATE INDEX keys_of_openings ON keys (task) WHERE seq = 1;
