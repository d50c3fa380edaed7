-- Runs that an operator has condemned: every fold reads them first, and does not build these runs.
CREATE TABLE condemned (
    run INTEGER PRIMARY KEY
) STRICT;
