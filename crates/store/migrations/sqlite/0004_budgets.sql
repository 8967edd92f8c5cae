-- What was spent of the budgets of a day, which is numbered from 1970.
CREATE TABLE hub_budgets (
    key   TEXT PRIMARY KEY,
    day   INTEGER NOT NULL,
    spent INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX hub_budgets_by_day ON hub_budgets (day);
