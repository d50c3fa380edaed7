CREATE TABLE windlass_mail_places (
    run text PRIMARY KEY,
    epoch bigint NOT NULL,
    by text,
    until timestamptz NOT NULL,
    epitaph text
);

CREATE UNLOGGED TABLE windlass_mail (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run text NOT NULL,
    box bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    body bytea NOT NULL
);

-- Letters come and go: what is proved by 32 bytes of hash is not worth packing.
ALTER TABLE windlass_mail ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE INDEX windlass_mail_by_box ON windlass_mail (run, box, id);
