-- Since when the server runs on which the last term was won. Behind a restart it may be one that was put back from a copy of
-- its files, which nothing else tells from the one before; terms jump ahead then.
ALTER TABLE windlass_leader ADD COLUMN server_since timestamptz;
