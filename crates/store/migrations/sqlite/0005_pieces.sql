-- Entries of a log that were written together are one row, with the number of the last of them:
-- a row and an index entry for each took longer to write than what they say. The form of the
-- body is in `piece.rs`. Rows stand in the order in which they came, whatever their task: a table
-- that grows at its end changes a third of the pages that one ordered by task does.
CREATE TABLE pieces (
    key  INTEGER PRIMARY KEY,
    task INTEGER NOT NULL REFERENCES tasks ON DELETE CASCADE,
    seq  INTEGER NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (task, seq)
) STRICT;

INSERT INTO pieces (key, task, seq, body)
SELECT key, task, seq, CAST(
    unhex(printf('%02x%08x%08x', kind, octet_length(event),
                 ifnull(octet_length(message), 4294967295)))
    || event || ifnull(message, '') AS BLOB)
FROM events ORDER BY key;

DROP TABLE events;

-- One index for all that have ended, and for those of them that have their log.
DROP INDEX tasks_uncut;
DROP INDEX tasks_ended;
CREATE INDEX tasks_ended ON tasks (tenant, state, is_cut, ended_at) WHERE ended_at IS NOT NULL;
