-- A short snapshot stands in the row of its task, and its place in the log beside it: there is
-- one row less to write for a short turn, and one to read for a task. A long one stands apart,
-- because a row is rewritten as a whole; so do those that were written before.
ALTER TABLE tasks ADD COLUMN snapshot INTEGER;
ALTER TABLE tasks ADD COLUMN head TEXT;
ALTER TABLE tasks ADD COLUMN history TEXT;
ALTER TABLE tasks ADD COLUMN artifacts TEXT;
