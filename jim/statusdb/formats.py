"""The formats of an SQLite store: the schema of today, and how each older one becomes the next."""

from __future__ import annotations

from pathlib import Path

# The first formats with tables or columns that readers need. A store has an older format until a keeper opens it.
WITH_KINDS, WITH_DERIVED, WITH_VERSIONS, WITH_SENDERS, WITH_ASKED = 6, 8, 9, 10, 11
WITH_GENERATIONS, WITH_SPARED, WITH_TASKS, WITH_OUTPUTS, WITH_KNOWN = 12, 12, 12, 13, 14
WITH_QUEUE_WORDS = WITH_LAST_LINES = WITH_ORIGINS = 14
# From format 1 to 2, from 2 to 3, and so on.
UPGRADES = (
    "ALTER TABLE grid_job ADD COLUMN splitter TEXT NOT NULL DEFAULT '';",
    "ALTER TABLE grid_job ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;",
    "DROP TRIGGER local_job_moved;",
    """
    CREATE TABLE removed (grid INTEGER PRIMARY KEY, place TEXT NOT NULL DEFAULT '');
    CREATE TABLE fulfilled (name TEXT PRIMARY KEY) WITHOUT ROWID;
    ALTER TABLE submission ADD COLUMN wall_seconds INTEGER;
    ALTER TABLE submission ADD COLUMN trouble TEXT NOT NULL DEFAULT '';
    ALTER TABLE attempt ADD COLUMN over TEXT NOT NULL DEFAULT '';
    CREATE INDEX attempt_over ON attempt (grid, k, idx) WHERE over <> '';
    ALTER TABLE grid_job ADD COLUMN nonce TEXT NOT NULL DEFAULT '';
    ALTER TABLE grid_job ADD COLUMN place TEXT NOT NULL DEFAULT '';
    UPDATE grid_job SET place = id WHERE step <> 'accepted';
    """,
    # `due` was in seconds since boot. Older reasons have no kind: they decide nothing.
    """
    UPDATE grid_job SET due = 0 WHERE due > 0;
    UPDATE local_job SET due = 0 WHERE due > 0 AND due < 9e999;
    UPDATE submission SET due = 0 WHERE due > 0;
    UPDATE submission SET tries = 0 WHERE state IN ('unknown', 'full', 'refused', 'cancelled');
    ALTER TABLE local_job ADD COLUMN kind TEXT NOT NULL DEFAULT '';
    ALTER TABLE local_job ADD COLUMN facts TEXT NOT NULL DEFAULT '';
    ALTER TABLE submission ADD COLUMN kind TEXT NOT NULL DEFAULT '';
    ALTER TABLE submission ADD COLUMN facts TEXT NOT NULL DEFAULT '';
    ALTER TABLE attempt ADD COLUMN kind TEXT NOT NULL DEFAULT '';
    ALTER TABLE attempt ADD COLUMN facts TEXT NOT NULL DEFAULT '';
    ALTER TABLE grid_job ADD COLUMN door TEXT NOT NULL DEFAULT '';
    """,
    # A keeper that starts looks at these, and no more at all that have ended.
    """
    CREATE TABLE unanswered (grid INTEGER PRIMARY KEY);
    INSERT INTO unanswered SELECT id FROM grid_job WHERE step = 'finished';
    DROP INDEX local_job_waiting;
    CREATE INDEX local_job_waiting ON local_job (grid, n, due) WHERE state = 'waiting';
    CREATE INDEX grid_job_elsewhere ON grid_job (id, place) WHERE place NOT IN ('', CAST(id AS TEXT));
    """,
    # New exit records are packed, and new lines of the journal are shorter. The old ones stay as they are: an upgrade
    # that writes all of them anew takes long, and as much room again.
    """
    ALTER TABLE removed ADD COLUMN at TEXT NOT NULL DEFAULT '';
    ALTER TABLE removed ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE cells (grid INTEGER NOT NULL, block INTEGER NOT NULL, states BLOB NOT NULL, PRIMARY KEY (grid, block));
    CREATE TABLE pulse (grid INTEGER NOT NULL, at INTEGER NOT NULL, what TEXT NOT NULL, count INTEGER NOT NULL,
        PRIMARY KEY (grid, at, what)) WITHOUT ROWID;
    CREATE TABLE on_host (grid INTEGER NOT NULL, host TEXT NOT NULL, verdict TEXT NOT NULL, count INTEGER NOT NULL,
        last TEXT NOT NULL, PRIMARY KEY (grid, host, verdict)) WITHOUT ROWID;
    CREATE INDEX on_host_by_host ON on_host (host);
    CREATE INDEX attempt_by_host ON attempt (host) WHERE host <> '';
    CREATE INDEX attempt_badly ON attempt (host) WHERE verdict NOT IN ('', 'completed', 'killed') AND host <> '';
    CREATE INDEX attempt_ended ON attempt (updated) WHERE verdict <> '';
    CREATE INDEX submission_by_batch_id ON submission (batch_id);
    CREATE INDEX submission_by_mark ON submission (mark);
    """,
    # Publications of completed local jobs keep attempt 0, which counts as the latest: to write all takes long.
    """
    ALTER TABLE grid_job ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE detail ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE detail ADD COLUMN late INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE detail ADD COLUMN valid TEXT NOT NULL DEFAULT '';
    UPDATE detail SET attempt = l.attempt FROM local_job l
        WHERE l.grid = detail.grid AND l.n = detail.n AND l.state <> 'completed';
    CREATE INDEX detail_unchecked ON detail (grid, n, name) WHERE valid = '?';
    CREATE TABLE refused (grid INTEGER NOT NULL, n INTEGER NOT NULL, refused INTEGER NOT NULL,
        dropped INTEGER NOT NULL, PRIMARY KEY (grid, n)) WITHOUT ROWID;
    CREATE TABLE phase (grid INTEGER NOT NULL, key TEXT NOT NULL, n INTEGER NOT NULL, name TEXT NOT NULL,
        unit TEXT NOT NULL, done INTEGER NOT NULL, total INTEGER NOT NULL, attempt INTEGER NOT NULL,
        updated TEXT NOT NULL, PRIMARY KEY (grid, key, n)) WITHOUT ROWID;
    """,
    # Attempts that ended under an older version have no line in the accounting.
    """
    CREATE TABLE sender (grid INTEGER PRIMARY KEY, dn TEXT NOT NULL, fqans TEXT NOT NULL, contact TEXT NOT NULL);
    CREATE INDEX sender_by_contact ON sender (contact) WHERE contact <> '';
    CREATE TABLE unaccounted (seq INTEGER PRIMARY KEY, grid INTEGER NOT NULL, k INTEGER NOT NULL, idx INTEGER NOT NULL,
        at TEXT NOT NULL);
    CREATE TABLE in_vain (grid INTEGER NOT NULL, k INTEGER NOT NULL, idx INTEGER NOT NULL, since REAL NOT NULL,
        PRIMARY KEY (grid, k, idx)) WITHOUT ROWID;
    """,
    """
    ALTER TABLE local_job ADD COLUMN changed TEXT NOT NULL DEFAULT '';
    ALTER TABLE submission ADD COLUMN asked TEXT NOT NULL DEFAULT '';
    CREATE INDEX local_job_changed ON local_job (grid, n) WHERE changed <> '';
    """,
    """
    CREATE TABLE at_door (grid INTEGER PRIMARY KEY, after INTEGER NOT NULL DEFAULT 0,
        cancelled INTEGER NOT NULL DEFAULT 0, places TEXT NOT NULL DEFAULT '', placed TEXT NOT NULL DEFAULT '');
    CREATE INDEX at_door_unplaced ON at_door (grid) WHERE places <> '' AND placed = '';
    CREATE TABLE spared (grid INTEGER NOT NULL, k INTEGER NOT NULL, idx INTEGER NOT NULL, n INTEGER NOT NULL,
        host TEXT NOT NULL, open INTEGER NOT NULL, PRIMARY KEY (grid, k, idx)) WITHOUT ROWID;
    CREATE INDEX spared_open ON spared (grid, k, idx) WHERE open;
    ALTER TABLE grid_job ADD COLUMN room INTEGER;
    CREATE TABLE task (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, nonce TEXT NOT NULL, owner TEXT NOT NULL,
        spec TEXT NOT NULL, digest TEXT NOT NULL, state TEXT NOT NULL, outcome TEXT NOT NULL DEFAULT '', reason TEXT
        NOT NULL DEFAULT '', tested TEXT NOT NULL DEFAULT '', tests INTEGER NOT NULL DEFAULT 0, priority INTEGER NOT
        NULL DEFAULT 0, throttle TEXT NOT NULL DEFAULT '{}', next_piece INTEGER NOT NULL DEFAULT 0, next_wave INTEGER
        NOT NULL DEFAULT 1, created TEXT NOT NULL, updated TEXT NOT NULL);
    CREATE INDEX task_by_state ON task (state);
    CREATE TABLE source (task INTEGER NOT NULL, k INTEGER NOT NULL, kind TEXT NOT NULL, closed TEXT NOT NULL DEFAULT
        '', device TEXT NOT NULL DEFAULT '', looked TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '', since
        TEXT NOT NULL DEFAULT '', waits TEXT NOT NULL DEFAULT '', PRIMARY KEY (task, k)) WITHOUT ROWID;
    CREATE TABLE pool_group (task INTEGER NOT NULL, grp TEXT NOT NULL, closed TEXT NOT NULL DEFAULT '', ended TEXT
        NOT NULL DEFAULT '', dirty INTEGER NOT NULL DEFAULT 0, flush INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (task,
        grp)) WITHOUT ROWID;
    CREATE INDEX pool_group_dirty ON pool_group (task, grp) WHERE dirty > 0;
    CREATE TABLE item (id INTEGER PRIMARY KEY, task INTEGER NOT NULL, name TEXT NOT NULL, grp TEXT NOT NULL, state
        TEXT NOT NULL, since REAL NOT NULL, size INTEGER NOT NULL DEFAULT 0, mtime TEXT NOT NULL DEFAULT '', upto
        INTEGER NOT NULL DEFAULT 0, live INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0, note TEXT NOT
        NULL DEFAULT '', record TEXT NOT NULL DEFAULT '', UNIQUE (task, name));
    CREATE INDEX item_available ON item (task, grp, id) WHERE state = 'available';
    CREATE TABLE piece (task INTEGER NOT NULL, p INTEGER NOT NULL, grp TEXT NOT NULL, state TEXT NOT NULL, record
        TEXT NOT NULL, wave INTEGER NOT NULL DEFAULT 0, n INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL
        DEFAULT 0, reason TEXT NOT NULL DEFAULT '', kind TEXT NOT NULL DEFAULT '', ended REAL NOT NULL DEFAULT 0, again
        INTEGER NOT NULL DEFAULT 0, turn INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (task, p)) WITHOUT ROWID;
    CREATE INDEX piece_ready ON piece (task, turn, p) WHERE state = 'ready';
    CREATE INDEX piece_failed ON piece (task, p) WHERE state = 'failed';
    CREATE INDEX piece_in_wave ON piece (task, wave, n) WHERE wave > 0;
    CREATE TABLE piece_item (task INTEGER NOT NULL, p INTEGER NOT NULL, item INTEGER NOT NULL, part INTEGER NOT NULL
        DEFAULT 0, first_event INTEGER, last_event INTEGER, first_lumi INTEGER, last_lumi INTEGER, run INTEGER,
        PRIMARY KEY (task, p, item, part)) WITHOUT ROWID;
    CREATE INDEX piece_item_of ON piece_item (item, p);
    CREATE TABLE wave (task INTEGER NOT NULL, t INTEGER NOT NULL DEFAULT 0, w INTEGER NOT NULL, state TEXT NOT NULL,
        grid INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL, sha256 TEXT NOT NULL, pieces TEXT NOT NULL DEFAULT
        '', followed INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT -1, ending TEXT NOT NULL DEFAULT
        '', reason TEXT NOT NULL DEFAULT '', created TEXT NOT NULL, fix INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (task, t, w)) WITHOUT ROWID;
    CREATE INDEX wave_live ON wave (task, t, w) WHERE state IN ('intended', 'handed in');
    CREATE INDEX wave_of ON wave (grid) WHERE grid > 0;
    CREATE TABLE task_tally (task INTEGER NOT NULL, what TEXT NOT NULL, grp TEXT NOT NULL, state TEXT NOT NULL, count
        INTEGER NOT NULL, PRIMARY KEY (task, what, grp, state)) WITHOUT ROWID;
    CREATE TABLE fix (task INTEGER NOT NULL, number INTEGER NOT NULL, changes TEXT NOT NULL, at TEXT NOT NULL,
        PRIMARY KEY (task, number)) WITHOUT ROWID;
    CREATE TABLE task_journal (seq INTEGER PRIMARY KEY, task INTEGER NOT NULL, at TEXT NOT NULL, what TEXT NOT NULL,
        reason TEXT NOT NULL);
    CREATE INDEX task_journal_of ON task_journal (task);
    CREATE INDEX journal_by_grid_job ON journal (grid, seq);
    """,
    # Tasks of before have no outputs, and nothing that is only promised.
    """
    ALTER TABLE source ADD COLUMN upstream INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE source ADD COLUMN stream TEXT NOT NULL DEFAULT '';
    ALTER TABLE source ADD COLUMN upto INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX source_of ON source (upstream) WHERE upstream > 0;
    ALTER TABLE item ADD COLUMN there INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE item ADD COLUMN output INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX item_promised ON item (task, grp, id) WHERE state = 'promised';
    CREATE INDEX item_of ON item (output) WHERE output > 0;
    ALTER TABLE piece ADD COLUMN missing INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE piece ADD COLUMN planned REAL NOT NULL DEFAULT 0;
    ALTER TABLE piece ADD COLUMN seconds REAL NOT NULL DEFAULT 0;
    CREATE INDEX piece_waiting ON piece (task, p) WHERE state = 'waiting';
    CREATE TABLE output (id INTEGER PRIMARY KEY, task INTEGER NOT NULL, p INTEGER NOT NULL, stream TEXT NOT NULL, k
        INTEGER NOT NULL DEFAULT 0, grp TEXT NOT NULL, state TEXT NOT NULL, todo TEXT NOT NULL DEFAULT '', due REAL NOT
        NULL DEFAULT 0, tries INTEGER NOT NULL DEFAULT 0, reason TEXT NOT NULL DEFAULT '', name TEXT NOT NULL DEFAULT
        '', place TEXT NOT NULL DEFAULT '', sha256 TEXT NOT NULL DEFAULT '', bytes INTEGER NOT NULL DEFAULT 0, record
        TEXT NOT NULL DEFAULT '', fix INTEGER NOT NULL DEFAULT 0, promised REAL NOT NULL, changed REAL NOT NULL,
        UNIQUE (task, p, stream, k));
    CREATE INDEX output_to_do ON output (task, due) WHERE todo <> '';
    CREATE INDEX output_open ON output (task, stream, p) WHERE state IN ('promised', 'broken');
    """,
    # Of what was sent before, neither nonces are known nor times. Its senders are claimed, and may name any file.
    """
    ALTER TABLE attempt ADD COLUMN nonce TEXT NOT NULL DEFAULT '';
    ALTER TABLE submission ADD COLUMN intended TEXT NOT NULL DEFAULT '';
    ALTER TABLE submission ADD COLUMN booted TEXT NOT NULL DEFAULT '';
    ALTER TABLE sender ADD COLUMN known INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE grid_job ADD COLUMN realm TEXT NOT NULL DEFAULT '';
    ALTER TABLE grid_job ADD COLUMN came_from TEXT NOT NULL DEFAULT '';
    CREATE INDEX grid_job_origin ON grid_job (CAST(came_from AS INTEGER)) WHERE came_from <> '';
    CREATE TABLE last_line (grid INTEGER NOT NULL, reason TEXT NOT NULL, line TEXT NOT NULL, times INTEGER NOT NULL,
        read INTEGER NOT NULL, PRIMARY KEY (grid, reason)) WITHOUT ROWID;
    CREATE TABLE queue_words (grid INTEGER NOT NULL, k INTEGER NOT NULL, state TEXT NOT NULL, words TEXT NOT NULL,
        count INTEGER NOT NULL, since TEXT NOT NULL, PRIMARY KEY (grid, k, state, words)) WITHOUT ROWID;
    """,
)


VERSION = len(UPGRADES) + 1


def schema(version: int) -> str:
    """Return the SQL that makes a database, or updates one of an older format."""
    return "".join(UPGRADES[version - 1 :]) if version else Path(__file__).with_name("schema.sql").read_text()
