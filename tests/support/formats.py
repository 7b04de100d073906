"""SQL that takes a status DB back to a format of before: it loses what that had not."""

from __future__ import annotations

TASKS = ("task", "fix", "source", "pool_group", "item", "piece", "piece_item", "wave", "task_tally", "task_journal")
TO_FORMAT_13 = """
    ALTER TABLE grid_job DROP COLUMN realm;
    ALTER TABLE sender DROP COLUMN known;
    ALTER TABLE submission DROP COLUMN booted;
    ALTER TABLE submission DROP COLUMN intended;
    ALTER TABLE attempt DROP COLUMN nonce;
    DROP INDEX grid_job_origin;
    ALTER TABLE grid_job DROP COLUMN came_from;
    DROP TABLE queue_words;
    DROP TABLE last_line;
    PRAGMA user_version = 13;
"""
TO_FORMAT_12 = f"""
    {TO_FORMAT_13}
    DROP TABLE output;
    DROP INDEX source_of;
    ALTER TABLE source DROP COLUMN upto;
    ALTER TABLE source DROP COLUMN stream;
    ALTER TABLE source DROP COLUMN upstream;
    DROP INDEX item_of;
    DROP INDEX item_promised;
    ALTER TABLE item DROP COLUMN output;
    ALTER TABLE item DROP COLUMN there;
    DROP INDEX piece_waiting;
    ALTER TABLE piece DROP COLUMN seconds;
    ALTER TABLE piece DROP COLUMN planned;
    ALTER TABLE piece DROP COLUMN missing;
    PRAGMA user_version = 12;
"""
TO_FORMAT_11 = f"""
    {TO_FORMAT_12}
    DROP TABLE at_door;
    DROP TABLE spared;
    {" ".join(f"DROP TABLE {name};" for name in TASKS)}
    DROP INDEX journal_by_grid_job;
    ALTER TABLE grid_job DROP COLUMN room;
    PRAGMA user_version = 11;
"""
TO_FORMAT_10 = f"""
    {TO_FORMAT_11}
    DROP INDEX local_job_changed;
    ALTER TABLE submission DROP COLUMN asked;
    ALTER TABLE local_job DROP COLUMN changed;
    PRAGMA user_version = 10;
"""
TO_FORMAT_9 = f"""
    {TO_FORMAT_10}
    DROP TABLE sender;
    DROP TABLE unaccounted;
    DROP TABLE in_vain;
    PRAGMA user_version = 9;
"""
TO_FORMAT_8 = f"""
    {TO_FORMAT_9}
    DROP TABLE phase;
    DROP TABLE refused;
    DROP INDEX detail_unchecked;
    ALTER TABLE detail DROP COLUMN valid;
    ALTER TABLE detail DROP COLUMN late;
    ALTER TABLE detail DROP COLUMN attempt;
    ALTER TABLE grid_job DROP COLUMN version;
    DELETE FROM meta WHERE name = 'version';
    PRAGMA user_version = 8;
"""
TO_FORMAT_7 = f"""
    {TO_FORMAT_8}
    ALTER TABLE removed DROP COLUMN gone;
    ALTER TABLE removed DROP COLUMN at;
    DROP TABLE cells;
    DROP TABLE pulse;
    DROP TABLE on_host;
    DROP INDEX attempt_by_host;
    DROP INDEX attempt_badly;
    DROP INDEX attempt_ended;
    DROP INDEX submission_by_batch_id;
    DROP INDEX submission_by_mark;
    PRAGMA user_version = 7;
"""
TO_FORMAT_6 = f"""
    {TO_FORMAT_7}
    DROP TABLE unanswered;
    DROP INDEX grid_job_elsewhere;
    DROP INDEX local_job_waiting;
    CREATE INDEX local_job_waiting ON local_job (grid, n) WHERE state = 'waiting';
    PRAGMA user_version = 6;
"""
TO_FORMAT_5 = f"""
    {TO_FORMAT_6}
    ALTER TABLE grid_job DROP COLUMN door;
    ALTER TABLE attempt DROP COLUMN facts;
    ALTER TABLE attempt DROP COLUMN kind;
    ALTER TABLE submission DROP COLUMN facts;
    ALTER TABLE submission DROP COLUMN kind;
    ALTER TABLE local_job DROP COLUMN facts;
    ALTER TABLE local_job DROP COLUMN kind;
    PRAGMA user_version = 5;
"""
TO_FORMAT_4 = f"""
    {TO_FORMAT_5}
    DROP TABLE removed;
    DROP TABLE fulfilled;
    DROP INDEX attempt_over;
    ALTER TABLE attempt DROP COLUMN over;
    ALTER TABLE submission DROP COLUMN trouble;
    ALTER TABLE submission DROP COLUMN wall_seconds;
    ALTER TABLE grid_job DROP COLUMN place;
    ALTER TABLE grid_job DROP COLUMN nonce;
    PRAGMA user_version = 4;
"""
