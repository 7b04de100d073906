-- One writer (the keeper's loop), any number of readers. Times that people read are UTC text; `due` is
-- seconds since 1970, set to 0 for all when the machine was started again, or its clock has jumped.

CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE grid_job (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    job_type TEXT NOT NULL,
    owner TEXT NOT NULL,
    step TEXT NOT NULL,
    size INTEGER NOT NULL DEFAULT 0,    -- number of local jobs
    events_per_job INTEGER NOT NULL DEFAULT 0,
    why TEXT NOT NULL DEFAULT '',       -- how that size came about
    wish TEXT NOT NULL DEFAULT '',      -- cancel, suspend, resume
    outcome TEXT NOT NULL DEFAULT '',   -- at step finished: completed, failed, killed
    reason TEXT NOT NULL DEFAULT '',
    result TEXT NOT NULL DEFAULT '{}',  -- where the tar is, JSON
    started INTEGER NOT NULL DEFAULT 0, -- has any local job ever started?
    submissions INTEGER NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 0,   -- failed tries of the present step
    due REAL NOT NULL DEFAULT 0,
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    splitter TEXT NOT NULL DEFAULT '',  -- that the request names
    priority INTEGER NOT NULL DEFAULT 0, -- the highest is sent first
    nonce TEXT NOT NULL DEFAULT '',     -- made by the door; no other grid job is taken for it
    place TEXT NOT NULL DEFAULT '',     -- the name of its directory; empty: it has none
    door TEXT NOT NULL DEFAULT '',      -- in whose words its polls are answered; empty: an older version took it in
    version INTEGER NOT NULL DEFAULT 0, -- one more with each transaction that changes anything of the grid job
    room INTEGER,                       -- how many of its local jobs may be in the batch system; null: no limit of its own
    realm TEXT NOT NULL DEFAULT '',     -- which files its sender may name, JSON; empty: whatever the account can read
    came_from TEXT NOT NULL DEFAULT ''  -- the grid job G, or the local job G.n, whose work it does
);
CREATE INDEX grid_job_origin ON grid_job (CAST(came_from AS INTEGER)) WHERE came_from <> '';
CREATE INDEX grid_job_by_step ON grid_job (step);
CREATE INDEX grid_job_elsewhere ON grid_job (id, place) WHERE place NOT IN ('', CAST(id AS TEXT));

-- The checked attributes, JSON. They may be megabytes, and the rows of grid_job are read and written all the time.
CREATE TABLE request (grid INTEGER PRIMARY KEY, text TEXT NOT NULL);

CREATE TABLE local_job (
    grid INTEGER NOT NULL,
    n INTEGER NOT NULL,
    state TEXT NOT NULL,
    piece TEXT NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0, -- the latest
    submission INTEGER,                 -- that carries the latest attempt
    spent INTEGER NOT NULL DEFAULT 0,   -- attempts that count against the limit
    recovery TEXT NOT NULL DEFAULT '',  -- arguments the last attempt left for the next
    wish TEXT NOT NULL DEFAULT '',
    witness TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '',
    due REAL NOT NULL DEFAULT 0,
    updated TEXT NOT NULL,
    kind TEXT NOT NULL DEFAULT '',      -- of the reason, which policies read; empty: of a version before, or none
    facts TEXT NOT NULL DEFAULT '',     -- of the reason, JSON
    changed TEXT NOT NULL DEFAULT '',   -- attributes that its further attempts have instead of the request's, JSON
    PRIMARY KEY (grid, n)
) WITHOUT ROWID;
CREATE INDEX local_job_waiting ON local_job (grid, n, due) WHERE state = 'waiting';
CREATE INDEX local_job_wished ON local_job (grid, n) WHERE wish <> '';
CREATE INDEX local_job_completing ON local_job (grid, n) WHERE state = 'completing';
CREATE INDEX local_job_changed ON local_job (grid, n) WHERE changed <> '';

CREATE TABLE tally (
    grid INTEGER NOT NULL, state TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (grid, state)
) WITHOUT ROWID;

CREATE TABLE submission (
    grid INTEGER NOT NULL,
    k INTEGER NOT NULL,
    mark TEXT NOT NULL,
    size INTEGER NOT NULL,
    state TEXT NOT NULL,                -- intended, unknown, full, refused, cancelled, recorded, confirmed, void, ended
    batch_id TEXT NOT NULL DEFAULT '',
    tries INTEGER NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT '',
    due REAL NOT NULL DEFAULT 0,
    updated TEXT NOT NULL,
    wall_seconds INTEGER,               -- the time limit that it is sent with; null: by a version before that kept it
    trouble TEXT NOT NULL DEFAULT '',   -- why it could not be looked for just now
    kind TEXT NOT NULL DEFAULT '',      -- of the reason
    facts TEXT NOT NULL DEFAULT '',
    asked TEXT NOT NULL DEFAULT '',     -- the resources that it is sent with, JSON; empty: by a version before
    intended TEXT NOT NULL DEFAULT '',  -- when: nothing of it can have run before; empty: by a version before
    booted TEXT NOT NULL DEFAULT '',    -- the same moment by a clock that nobody can set: boot id, seconds since boot
    carriers INTEGER NOT NULL DEFAULT 0,    -- batch jobs that run its attempts; 0: each attempt is one of its own
    PRIMARY KEY (grid, k)
) WITHOUT ROWID;
CREATE INDEX submission_by_state ON submission (state);
CREATE INDEX submission_with_carriers ON submission (state, grid) WHERE carriers > 0;

CREATE TABLE attempt (
    grid INTEGER NOT NULL,
    k INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    n INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    host TEXT NOT NULL DEFAULT '',
    started TEXT NOT NULL DEFAULT '',   -- when its claim was seen; empty: never
    record TEXT NOT NULL DEFAULT '',    -- the exit record, as short_forms.py packs it; text: by a version before
    verdict TEXT NOT NULL DEFAULT '',   -- empty: live
    reason TEXT NOT NULL DEFAULT '',
    updated TEXT NOT NULL,
    over TEXT NOT NULL DEFAULT '',      -- how it is to end, once it is given up in the submission directory, too
    kind TEXT NOT NULL DEFAULT '',      -- of the reason
    facts TEXT NOT NULL DEFAULT '',
    nonce TEXT NOT NULL DEFAULT '',     -- of the claim, from the report of the start until the verdict; empty: not known
    carrier INTEGER NOT NULL DEFAULT 0, -- index of the batch job that has claimed it; 0: none, or one of its own
    PRIMARY KEY (grid, k, idx)
) WITHOUT ROWID;
CREATE INDEX attempt_of ON attempt (grid, n, attempt);
CREATE INDEX attempt_over ON attempt (grid, k, idx) WHERE over <> '';

-- Publications. n is -1 in those about the grid job itself.
CREATE TABLE detail (
    grid INTEGER NOT NULL, n INTEGER NOT NULL, name TEXT NOT NULL, content TEXT NOT NULL, updated TEXT NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0, -- that published it; 0: a version before did not keep it
    late INTEGER NOT NULL DEFAULT 0,    -- did it come after the verdict on that attempt?
    valid TEXT NOT NULL DEFAULT '',     -- ?: to be compared with a grammar of the job type; else how it differs
    PRIMARY KEY (grid, n, name)
) WITHOUT ROWID;
CREATE INDEX detail_unchecked ON detail (grid, n, name) WHERE valid = '?';

-- Publications that were not stored: refused ones, and those that came too late.
CREATE TABLE refused (
    grid INTEGER NOT NULL, n INTEGER NOT NULL, refused INTEGER NOT NULL, dropped INTEGER NOT NULL,
    PRIMARY KEY (grid, n)
) WITHOUT ROWID;

CREATE TABLE journal (
    seq INTEGER PRIMARY KEY,
    at TEXT NOT NULL,                   -- milliseconds since 1970; a time in words: by a version before, or a step
    grid INTEGER NOT NULL,
    n INTEGER,                          -- null: about the grid job
    attempt INTEGER,
    was TEXT NOT NULL DEFAULT '',       -- here digits stand for words: short_forms.py
    now TEXT NOT NULL DEFAULT '',
    witness TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT ''
);
CREATE INDEX journal_of ON journal (grid, n);

-- Grid jobs that are unseen, and when they were removed. Of those that are not gone, files may be left.
CREATE TABLE removed (
    grid INTEGER PRIMARY KEY,
    place TEXT NOT NULL DEFAULT '',
    at TEXT NOT NULL DEFAULT '',
    gone INTEGER NOT NULL DEFAULT 0
);

-- Grid jobs that have ended, and whose last answer may not be written yet.
CREATE TABLE unanswered (grid INTEGER PRIMARY KEY);

-- Wishes that have been fulfilled, and whose files may be left.
CREATE TABLE fulfilled (name TEXT PRIMARY KEY) WITHOUT ROWID;

-- Who sent a grid job. FQANs are JSON, as the proxy claims; the first one counts.
CREATE TABLE sender (
    grid INTEGER PRIMARY KEY, dn TEXT NOT NULL, fqans TEXT NOT NULL, contact TEXT NOT NULL,
    known INTEGER NOT NULL DEFAULT 0    -- has the gatekeeper named the DN? Otherwise the proxy claims it
);
CREATE INDEX sender_by_contact ON sender (contact) WHERE contact <> '';

-- Attempts that have ended, and whose line of the accounting may not be written yet.
CREATE TABLE unaccounted (
    seq INTEGER PRIMARY KEY, grid INTEGER NOT NULL, k INTEGER NOT NULL, idx INTEGER NOT NULL, at TEXT NOT NULL
);

-- Since when the batch system says that an attempt can never start, in seconds since 1970.
CREATE TABLE in_vain (
    grid INTEGER NOT NULL, k INTEGER NOT NULL, idx INTEGER NOT NULL, since REAL NOT NULL, PRIMARY KEY (grid, k, idx)
) WITHOUT ROWID;

-- What the batch system says of waiting jobs of a submission, by words, as of the last good listing.
CREATE TABLE queue_words (
    grid INTEGER NOT NULL, k INTEGER NOT NULL, state TEXT NOT NULL, words TEXT NOT NULL, count INTEGER NOT NULL,
    since TEXT NOT NULL,                -- when a listing first said so
    PRIMARY KEY (grid, k, state, words)
) WITHOUT ROWID;

-- The last line of stderr that failed local jobs with a reason share: `times` of the `read` ones.
CREATE TABLE last_line (
    grid INTEGER NOT NULL, reason TEXT NOT NULL, line TEXT NOT NULL, times INTEGER NOT NULL, read INTEGER NOT NULL,
    PRIMARY KEY (grid, reason)
) WITHOUT ROWID;

-- What a door keeps of a grid job, if there is anything.
CREATE TABLE at_door (
    grid INTEGER PRIMARY KEY,
    after INTEGER NOT NULL DEFAULT 0,   -- the grid job of the same key before: nothing is sent until it has finished
    cancelled INTEGER NOT NULL DEFAULT 0, -- by its own door: the next submission with its key is another grid job
    places TEXT NOT NULL DEFAULT '',    -- where its outputs belong, JSON; empty: its gatekeeper does not take them
    placed TEXT NOT NULL DEFAULT ''     -- placed, or why they could not be placed; empty: not yet
);
CREATE INDEX at_door_unplaced ON at_door (grid) WHERE places <> '' AND placed = '';

-- Attempts that do not count against their local jobs: a black hole has eaten them, or their wrappers have left a host
-- that JIM avoids. open: one of these, until the keeper holds its claim.
CREATE TABLE spared (
    grid INTEGER NOT NULL, k INTEGER NOT NULL, idx INTEGER NOT NULL, n INTEGER NOT NULL, host TEXT NOT NULL,
    open INTEGER NOT NULL, PRIMARY KEY (grid, k, idx)
) WITHOUT ROWID;
CREATE INDEX spared_open ON spared (grid, k, idx) WHERE open;

-- Tasks: standing orders, which hand in grid jobs of their own. docs/architecture.md says how they go on.

CREATE TABLE task (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    nonce TEXT NOT NULL,                -- a random word, part of the keys of its grid jobs
    owner TEXT NOT NULL,                -- its state directory's machine
    spec TEXT NOT NULL,                 -- the checked task file, JSON
    digest TEXT NOT NULL,               -- of spec and of what is sent along
    state TEXT NOT NULL,
    outcome TEXT NOT NULL DEFAULT '',   -- of a finished task: completed, with failures
    reason TEXT NOT NULL DEFAULT '',    -- why it paused by itself
    tested TEXT NOT NULL DEFAULT '',    -- the digest of what a test has passed with
    tests INTEGER NOT NULL DEFAULT 0,   -- how many tests there were
    priority INTEGER NOT NULL DEFAULT 0,
    throttle TEXT NOT NULL DEFAULT '{}', -- JSON
    next_piece INTEGER NOT NULL DEFAULT 0, -- pieces from here on do not count yet
    next_wave INTEGER NOT NULL DEFAULT 1,
    created TEXT NOT NULL,
    updated TEXT NOT NULL
);
CREATE INDEX task_by_state ON task (state);

-- What fills the input pool of a task.
CREATE TABLE source (
    task INTEGER NOT NULL,
    k INTEGER NOT NULL,
    kind TEXT NOT NULL,
    closed TEXT NOT NULL DEFAULT '',    -- since when nothing more comes
    device TEXT NOT NULL DEFAULT '',    -- of a directory, with its inode: another one proves nothing
    looked TEXT NOT NULL DEFAULT '',    -- when it was last looked at with success
    reason TEXT NOT NULL DEFAULT '',    -- why it cannot be looked at, since `since`
    since TEXT NOT NULL DEFAULT '',
    waits TEXT NOT NULL DEFAULT '',     -- files that are not taken yet, and why, JSON
    upstream INTEGER NOT NULL DEFAULT 0, -- the task that feeds it
    stream TEXT NOT NULL DEFAULT '',    -- by this output
    upto INTEGER NOT NULL DEFAULT 0,    -- the last output of before that was looked at
    PRIMARY KEY (task, k)
) WITHOUT ROWID;
CREATE INDEX source_of ON source (upstream) WHERE upstream > 0;

-- Items that no piece mixes. `dirty` counts what has changed since they were planned, `flush`: as if closed.
CREATE TABLE pool_group (
    task INTEGER NOT NULL,
    grp TEXT NOT NULL,
    closed TEXT NOT NULL DEFAULT '',
    ended TEXT NOT NULL DEFAULT '',     -- when what closes it was seen
    dirty INTEGER NOT NULL DEFAULT 0,
    flush INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (task, grp)
) WITHOUT ROWID;
CREATE INDEX pool_group_dirty ON pool_group (task, grp) WHERE dirty > 0;

CREATE TABLE item (
    id INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    name TEXT NOT NULL,
    grp TEXT NOT NULL,
    state TEXT NOT NULL,
    since REAL NOT NULL,                -- when it came, in seconds since 1970
    size INTEGER NOT NULL DEFAULT 0,
    mtime TEXT NOT NULL DEFAULT '',     -- of a file, with its inode: what tells that it has changed
    upto INTEGER NOT NULL DEFAULT 0,    -- how many events of a range are in pieces
    live INTEGER NOT NULL DEFAULT 0,    -- pieces with it that have not ended
    failed INTEGER NOT NULL DEFAULT 0,  -- pieces with it that have failed
    note TEXT NOT NULL DEFAULT '',      -- removed or stale since, or why it was dropped or left out
    record TEXT NOT NULL DEFAULT '',    -- what splitters may know, JSON without the name
    there INTEGER NOT NULL DEFAULT 1,   -- 0: only promised; -1: the promise is broken
    output INTEGER NOT NULL DEFAULT 0,  -- of another task, which this is
    UNIQUE (task, name)
);
CREATE INDEX item_available ON item (task, grp, id) WHERE state = 'available';
CREATE INDEX item_promised ON item (task, grp, id) WHERE state = 'promised';
CREATE INDEX item_of ON item (output) WHERE output > 0;

CREATE TABLE piece (
    task INTEGER NOT NULL,
    p INTEGER NOT NULL,
    grp TEXT NOT NULL,
    state TEXT NOT NULL,
    record TEXT NOT NULL,               -- what the splitter made, JSON; files by the ids of items
    wave INTEGER NOT NULL DEFAULT 0,    -- that has it, with the number of its local job there
    n INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0, -- in earlier waves
    reason TEXT NOT NULL DEFAULT '',    -- why it failed
    kind TEXT NOT NULL DEFAULT '',
    ended REAL NOT NULL DEFAULT 0,      -- when it failed or was completed, in seconds since 1970
    again INTEGER NOT NULL DEFAULT 0,   -- 1: it was tried again after a bad time; 2: a person wants that
    turn INTEGER NOT NULL DEFAULT 1,    -- 0: it is released before others, because it does again what has failed
    missing INTEGER NOT NULL DEFAULT 0, -- items that are only promised
    planned REAL NOT NULL DEFAULT 0,    -- when it was planned, in seconds since 1970
    seconds REAL NOT NULL DEFAULT 0,    -- that its completed attempt took
    PRIMARY KEY (task, p)
) WITHOUT ROWID;
CREATE INDEX piece_ready ON piece (task, turn, p) WHERE state = 'ready';
CREATE INDEX piece_failed ON piece (task, p) WHERE state = 'failed';
CREATE INDEX piece_in_wave ON piece (task, wave, n) WHERE wave > 0;
CREATE INDEX piece_waiting ON piece (task, p) WHERE state = 'waiting';

-- The items of a piece, with the part that it may process; null: no limit. A row for each range.
CREATE TABLE piece_item (
    task INTEGER NOT NULL,
    p INTEGER NOT NULL,
    item INTEGER NOT NULL,
    part INTEGER NOT NULL DEFAULT 0,
    first_event INTEGER, last_event INTEGER,
    first_lumi INTEGER, last_lumi INTEGER,
    run INTEGER,
    PRIMARY KEY (task, p, item, part)
) WITHOUT ROWID;
CREATE INDEX piece_item_of ON piece_item (item, p);

-- What each piece brings into an output pool: a promise from the moment that it is planned, then a file.
CREATE TABLE output (
    id INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    p INTEGER NOT NULL,
    stream TEXT NOT NULL,               -- the name of the output pool
    k INTEGER NOT NULL DEFAULT 0,       -- of several files of a piece
    grp TEXT NOT NULL,
    state TEXT NOT NULL,                -- promised, verified, stored, broken, replaced, withdrawn
    todo TEXT NOT NULL DEFAULT '',      -- read: the file that describes it; store: it is to be copied
    due REAL NOT NULL DEFAULT 0,        -- when that is tried next, in seconds since 1970
    tries INTEGER NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT '',    -- why that has failed
    name TEXT NOT NULL DEFAULT '',      -- of the file, as the payload has left it
    place TEXT NOT NULL DEFAULT '',     -- the path of the file
    sha256 TEXT NOT NULL DEFAULT '',
    bytes INTEGER NOT NULL DEFAULT 0,
    record TEXT NOT NULL DEFAULT '',    -- what splitters may know besides, JSON
    fix INTEGER NOT NULL DEFAULT 0,     -- the last fix that its attempt has
    promised REAL NOT NULL,             -- when, in seconds since 1970
    changed REAL NOT NULL,              -- when it got its state
    UNIQUE (task, p, stream, k)
);
CREATE INDEX output_to_do ON output (task, due) WHERE todo <> '';
CREATE INDEX output_open ON output (task, stream, p) WHERE state IN ('promised', 'broken');

-- A grid job that a task hands in; of a test: t counts the tests, w the grid jobs of it.
CREATE TABLE wave (
    task INTEGER NOT NULL,
    t INTEGER NOT NULL DEFAULT 0,
    w INTEGER NOT NULL,
    state TEXT NOT NULL,                -- intended, handed in, settled, refused
    grid INTEGER NOT NULL DEFAULT 0,
    size INTEGER NOT NULL,
    sha256 TEXT NOT NULL,               -- of its pieces
    pieces TEXT NOT NULL DEFAULT '',    -- of a test, JSON: they belong to no pool
    followed INTEGER NOT NULL DEFAULT 0, -- the last line of its grid job's journal that is taken in
    version INTEGER NOT NULL DEFAULT -1, -- of its grid job at that time
    ending TEXT NOT NULL DEFAULT '',    -- pause: its pieces become ready again; cancel
    reason TEXT NOT NULL DEFAULT '',
    created TEXT NOT NULL,
    fix INTEGER NOT NULL DEFAULT 0,     -- the last fix that its attempts have
    PRIMARY KEY (task, t, w)
) WITHOUT ROWID;
CREATE INDEX wave_live ON wave (task, t, w) WHERE state IN ('intended', 'handed in');
CREATE INDEX wave_of ON wave (grid) WHERE grid > 0;

-- Items and pieces of each task by group and state: they follow in the transaction that changes these.
CREATE TABLE task_tally (
    task INTEGER NOT NULL, what TEXT NOT NULL, grp TEXT NOT NULL, state TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (task, what, grp, state)
) WITHOUT ROWID;

-- Changes of attributes for all further attempts of a task, JSON.
CREATE TABLE fix (
    task INTEGER NOT NULL, number INTEGER NOT NULL, changes TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (task, number)
) WITHOUT ROWID;

CREATE TABLE task_journal (
    seq INTEGER PRIMARY KEY, task INTEGER NOT NULL, at TEXT NOT NULL, what TEXT NOT NULL, reason TEXT NOT NULL
);
CREATE INDEX task_journal_of ON task_journal (task);

CREATE INDEX journal_by_grid_job ON journal (grid, seq);

-- Derived from the rows above, for lists, maps and pictures: derived.py.

-- The states of local jobs, a byte for each (CODES), once the split has ended.
CREATE TABLE cells (grid INTEGER NOT NULL, block INTEGER NOT NULL, states BLOB NOT NULL, PRIMARY KEY (grid, block));

-- How many local jobs ended, and how many attempts started, in a minute since 1970. Grid job 0 is the site.
CREATE TABLE pulse (
    grid INTEGER NOT NULL, at INTEGER NOT NULL, what TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (grid, at, what)
) WITHOUT ROWID;

-- The attempts of a grid job on each host by verdict, with the time of the last one that has a verdict.
CREATE TABLE on_host (
    grid INTEGER NOT NULL, host TEXT NOT NULL, verdict TEXT NOT NULL, count INTEGER NOT NULL, last TEXT NOT NULL,
    PRIMARY KEY (grid, host, verdict)
) WITHOUT ROWID;
CREATE INDEX on_host_by_host ON on_host (host);
CREATE INDEX attempt_by_host ON attempt (host) WHERE host <> '';
CREATE INDEX attempt_badly ON attempt (host) WHERE verdict NOT IN ('', 'completed', 'killed') AND host <> '';
CREATE INDEX attempt_ended ON attempt (updated) WHERE verdict <> '';
CREATE INDEX submission_by_batch_id ON submission (batch_id);
CREATE INDEX submission_by_mark ON submission (mark);

-- Publications that are phases, with their numbers. `key` is the name of the publication.
CREATE TABLE phase (
    grid INTEGER NOT NULL, key TEXT NOT NULL, n INTEGER NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL,
    done INTEGER NOT NULL, total INTEGER NOT NULL, attempt INTEGER NOT NULL, updated TEXT NOT NULL,
    PRIMARY KEY (grid, key, n)
) WITHOUT ROWID;

CREATE TRIGGER grid_job_moved AFTER UPDATE OF step ON grid_job WHEN OLD.step <> NEW.step BEGIN
    INSERT INTO journal (at, grid, was, now, witness, reason)
        VALUES (NEW.updated, NEW.id, OLD.step, NEW.step, 'keeper', NEW.reason);
END;

CREATE TRIGGER journal_is_kept BEFORE UPDATE ON journal BEGIN
    SELECT raise(ABORT, 'the journal is only added to');
END;
