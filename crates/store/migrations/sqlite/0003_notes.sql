-- What only some tasks have stands apart, so that the others cost nothing for it.
CREATE TABLE notes (
    key  INTEGER PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    note BLOB NOT NULL
) STRICT;

-- The task of the same tenant that a task was opened for, which may be gone.
CREATE TABLE parents (
    key    INTEGER PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    tenant INTEGER NOT NULL,
    parent TEXT NOT NULL
) STRICT;

-- Ends with the key, because that is what SQLite finds rows by: children in the order of their
-- opening.
CREATE INDEX parents_of ON parents (tenant, parent);

-- The key that opened a task, to be found when it is let go.
CREATE INDEX keys_of_openings ON keys (task) WHERE seq = 1;
