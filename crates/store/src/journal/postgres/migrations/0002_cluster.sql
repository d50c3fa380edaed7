-- Which cluster this is, by chance: workers tell one from another by it. A copy of the database is the same one.
CREATE TABLE windlass_cluster (
    id      integer PRIMARY KEY CHECK (id = 1),
    cluster text NOT NULL
);
INSERT INTO windlass_cluster (id, cluster)
VALUES (1, substr(replace(gen_random_uuid()::text, '-', ''), 1, 16));
