-- What was spent of the budgets of a day, which is numbered from 1970.
CREATE TABLE hub_budgets (
    key   text COLLATE "C" PRIMARY KEY,
    day   bigint NOT NULL,
    spent bigint NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX hub_budgets_by_day ON hub_budgets (day);
