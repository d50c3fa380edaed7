-- One row per log: of which run (its id with the top bit turned over, as numbers are signed here), which step, attempt and
-- delivery, and how long it is. Its size changes often, so there is room on each page and no index of it.
CREATE SEQUENCE windlass_log_ids;
CREATE TABLE windlass_logs (
    run      bigint NOT NULL,
    step     bigint NOT NULL CHECK (step >= 0),
    attempt  integer NOT NULL CHECK (attempt >= 0),
    delivery integer NOT NULL CHECK (delivery >= 0),
    id       bigint NOT NULL UNIQUE DEFAULT nextval('windlass_log_ids'),
    size     bigint NOT NULL CHECK (size > 0),
    PRIMARY KEY (run, step, attempt, delivery)
) WITH (fillfactor = 70);
ALTER SEQUENCE windlass_log_ids OWNED BY windlass_logs.id;

-- What was printed, piece by piece, where it begins in its log. Partitions are ranges of ids, so of logs that began one
-- after the other: bytes are never deleted, they are dropped with their partition when none of its logs is left.
CREATE TABLE windlass_log_chunks (
    log   bigint NOT NULL,
    at    bigint NOT NULL CHECK (at >= 0),
    bytes bytea NOT NULL,
    PRIMARY KEY (log, at)
) PARTITION BY RANGE (log);
-- Parts of it can be read only as it is.
ALTER TABLE windlass_log_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
