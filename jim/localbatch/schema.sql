-- Verbs and daemon write, one transaction each. Times in `tasks` are seconds since boot, of the boot named beside them.

CREATE TABLE area (
    identity TEXT NOT NULL,             -- part of every task's mark in its environment
    slots INTEGER NOT NULL,             -- tasks that run at once
    grace REAL NOT NULL DEFAULT 10,     -- seconds between TERM and KILL
    idle REAL NOT NULL DEFAULT 60,      -- seconds after which a daemon without work ends
    history_days INTEGER NOT NULL DEFAULT 30,  -- how long a job is known after its end
    -- Only days on which something happens count: neither weeks without power nor a clock set forward
    -- take from anybody the time to ask how a job ended.
    day INTEGER NOT NULL DEFAULT 0,     -- the number of the latest such day
    date TEXT NOT NULL DEFAULT ''       -- its date, UTC
);

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again, not even after a row is deleted
    name TEXT NOT NULL,
    script TEXT NOT NULL,
    wall INTEGER,                       -- seconds; NULL: no limit
    memory_mb INTEGER,                  -- in all its processes; beyond it, all are killed
    queue TEXT,                         -- recorded: there is only one
    ended INTEGER                       -- area.day when the last of its tasks ended
);
CREATE INDEX jobs_by_name ON jobs (name);
CREATE INDEX jobs_by_end ON jobs (ended) WHERE ended IS NOT NULL;
CREATE TRIGGER jobs_not_forgotten_early BEFORE DELETE ON jobs
    WHEN OLD.ended IS NULL OR OLD.ended >= (SELECT day - history_days FROM area)
    BEGIN SELECT RAISE(ABORT, 'a job is kept until its history is too old'); END;

CREATE TABLE tasks (
    job INTEGER NOT NULL REFERENCES jobs (id),
    idx INTEGER NOT NULL,
    state TEXT NOT NULL,                -- pending held running suspended ending | ended cancelled
    wish TEXT,                          -- cancel, suspend or resume: for the daemon to do
    boot TEXT,                          -- set with state running, before there is a process
    pid INTEGER,                        -- NULL while running: the process is being started
    birth INTEGER,                      -- its start, in clock ticks since boot
    deadline REAL,                      -- when TERM is due
    remaining REAL,                     -- of the wall time, while suspended
    kill_at REAL,                       -- TERM was sent; when KILL is due
    code INTEGER,                       -- both NULL at an end that no one saw
    signal INTEGER,
    reason TEXT NOT NULL DEFAULT '',    -- why it is being ended, or how it ended
    PRIMARY KEY (job, idx)
) WITHOUT ROWID;
CREATE INDEX tasks_by_state ON tasks (state, job, idx);
CREATE VIEW live AS SELECT * FROM tasks WHERE state IN ('pending', 'held', 'running', 'suspended', 'ending');

-- All that happened to the jobs above: accepted, starting, started, deferred, ended, cancelled.
CREATE TABLE ledger (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL,                 -- UTC
    event TEXT NOT NULL,
    job INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    name TEXT NOT NULL,
    detail TEXT NOT NULL DEFAULT ''
);
CREATE INDEX ledger_by_job ON ledger (job);
CREATE TRIGGER ledger_not_changed BEFORE UPDATE ON ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_goes_with_its_job BEFORE DELETE ON ledger WHEN OLD.job IN (SELECT id FROM jobs)
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
-- INSERT OR REPLACE deletes without asking the trigger above.
CREATE TRIGGER ledger_not_replaced BEFORE INSERT ON ledger WHEN NEW.seq IN (SELECT seq FROM ledger)
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
