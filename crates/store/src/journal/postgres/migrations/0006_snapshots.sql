-- A snapshot names the batch that ends at its position: one whose batch is not the journal's there is of another history,
-- and is not used. So nothing has to be marked as lost. Snapshots of before do not say which batch they end with: they go.
DROP TABLE windlass_snapshot_parts;
DROP TABLE windlass_snapshots;
CREATE TABLE windlass_snapshots (
    position bigint NOT NULL,
    batch    bigint NOT NULL,
    parts    integer NOT NULL,
    PRIMARY KEY (position, batch)
);
CREATE TABLE windlass_snapshot_parts (
    position bigint NOT NULL,
    batch    bigint NOT NULL,
    part     integer NOT NULL,
    bytes    bytea NOT NULL,
    PRIMARY KEY (position, batch, part),
    FOREIGN KEY (position, batch) REFERENCES windlass_snapshots ON DELETE CASCADE
);
ALTER TABLE windlass_snapshot_parts ALTER COLUMN bytes SET STORAGE EXTERNAL;
