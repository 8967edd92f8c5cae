-- Entries of a log that were written together are one row, with the number of the last of them:
-- a row and an index entry for each took longer to write than what they say. The form of the
-- body is in `piece.rs`.
CREATE TABLE pieces (
    task bigint NOT NULL,
    seq  bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (task, seq)
);

INSERT INTO pieces (task, seq, body)
SELECT task, seq, set_byte('\x00'::bytea, 0, kind)
    || int4send(octet_length(convert_to(event, 'UTF8')))
    || int4send(coalesce(octet_length(convert_to(message, 'UTF8')), -1))
    || convert_to(event, 'UTF8') || convert_to(coalesce(message, ''), 'UTF8')
FROM events;

DROP TABLE events;

-- The snapshot stands in the row of its task, and its place in the log beside it: there is one
-- row to write for a short turn and one to read for a task. While a task is worked on it mostly
-- has none, and a long one is kept apart by the database itself.
ALTER TABLE tasks
    ADD COLUMN snapshot bigint,
    ADD COLUMN head bytea,
    ADD COLUMN history bytea,
    ADD COLUMN artifacts bytea;

UPDATE tasks t SET snapshot = s.seq, head = convert_to(s.head, 'UTF8'),
    history = convert_to(s.history, 'UTF8'), artifacts = convert_to(s.artifacts, 'UTF8')
FROM snapshots s WHERE s.task = t.key;

DROP TABLE snapshots;

-- One index for all that have ended, and for those of them that have their log.
DROP INDEX tasks_uncut;
DROP INDEX tasks_ended;
CREATE INDEX tasks_ended ON tasks (tenant, state, is_cut, ended_at) WHERE ended_at IS NOT NULL;
