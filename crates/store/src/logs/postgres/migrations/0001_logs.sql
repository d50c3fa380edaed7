-- One row per log: the run (its id with the top bit inverted, because numbers are signed here), step, attempt, delivery and
-- stream, and its size. The size changes often, so each page has room for updates and no index contains it.
CREATE SEQUENCE windlass_log_ids;
CREATE TABLE windlass_logs (
    run      bigint NOT NULL,
    step     bigint NOT NULL CHECK (step >= 0),
    attempt  integer NOT NULL CHECK (attempt >= 0),
    delivery integer NOT NULL CHECK (delivery >= 0),
    stream   text NOT NULL CHECK (stream IN ('output', 'notes', 'value')),
    id       bigint NOT NULL UNIQUE DEFAULT nextval('windlass_log_ids'),
    size     bigint NOT NULL CHECK (size > 0),
    PRIMARY KEY (run, step, attempt, delivery, stream)
) WITH (fillfactor = 70);
ALTER SEQUENCE windlass_log_ids OWNED BY windlass_logs.id;

-- The bytes of logs, in pieces, with the offset of each. Partitions are ranges of ids, so of logs that began one after the
-- other: bytes are never deleted, but dropped with their partition when none of its logs is left.
CREATE TABLE windlass_log_chunks (
    log   bigint NOT NULL,
    at    bigint NOT NULL CHECK (at >= 0),
    bytes bytea NOT NULL,
    PRIMARY KEY (log, at)
) PARTITION BY RANGE (log);
-- Parts of the bytes can be read only if they are stored uncompressed.
ALTER TABLE windlass_log_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
