-- A log can be the test report of a step.
ALTER TABLE windlass_logs DROP CONSTRAINT windlass_logs_stream_check;
ALTER TABLE windlass_logs ADD CONSTRAINT windlass_logs_stream_check
    CHECK (stream IN ('output', 'notes', 'value', 'tests'));
