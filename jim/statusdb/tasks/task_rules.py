"""What must hold of tasks at any moment that a reader can see, as SQL that must give no row."""

from __future__ import annotations

_LIVE_OR_DONE = "state IN ('waiting', 'ready', 'sent', 'completed')"
_OVERLAP = """
    SELECT a.item FROM piece_item a JOIN piece p ON p.task = a.task AND p.p = a.p AND p.{state}
    JOIN piece_item b ON b.item = a.item AND (b.p, b.part) > (a.p, a.part)
    JOIN piece q ON q.task = b.task AND q.p = b.p AND q.{state} JOIN task t ON t.id = a.task
    WHERE p.p < t.next_piece AND q.p < t.next_piece
    AND ifnull(a.run = b.run, 1)
    AND ifnull(a.first_event <= b.last_event, 1) AND ifnull(b.first_event <= a.last_event, 1)
    AND ifnull(a.first_lumi <= b.last_lumi, 1) AND ifnull(b.first_lumi <= a.last_lumi, 1)
    """
_ITEMS = "SELECT task, 'items' AS what, grp, state, count(*) AS count FROM item GROUP BY task, grp, state"
_PIECES = (
    "SELECT p.task, 'pieces' AS what, p.grp, p.state, count(*) AS count FROM piece p JOIN task t ON t.id = p.task "
    "WHERE p.p < t.next_piece GROUP BY p.task, p.grp, p.state"
)
_OUTPUTS = "SELECT task, 'output ' || stream AS what, grp, state, count(*) AS count FROM output GROUP BY 1, 2, 3, 4"
_TALLY = "SELECT task, what, grp, state, count FROM task_tally WHERE count <> 0 AND state <> 'new'"
_COUNTED = f"SELECT * FROM ({_ITEMS}) UNION ALL SELECT * FROM ({_PIECES}) UNION ALL SELECT * FROM ({_OUTPUTS})"
RULES = {
    "two pieces share a part of an item": _OVERLAP.format(state=_LIVE_OR_DONE),
    "the tally differs": (
        f"SELECT * FROM (SELECT * FROM ({_TALLY}) EXCEPT SELECT * FROM ({_COUNTED})) UNION ALL "
        f"SELECT * FROM (SELECT * FROM ({_COUNTED}) EXCEPT SELECT * FROM ({_TALLY}))"
    ),
    "the counts of an item differ": (
        "SELECT i.id FROM item i JOIN task t ON t.id = i.task LEFT JOIN piece_item x ON x.item = i.id "
        "LEFT JOIN piece p ON p.task = x.task AND p.p = x.p AND p.p < t.next_piece GROUP BY i.id "
        "HAVING i.live <> count(DISTINCT CASE WHEN p.state IN ('waiting', 'ready', 'sent') THEN p.p END) "
        "OR i.failed <> count(DISTINCT CASE WHEN p.state = 'failed' THEN p.p END)"
    ),
    "a piece is in two waves": (
        "SELECT w.task FROM wave w JOIN local_job l ON l.grid = w.grid JOIN piece p ON p.task = w.task "
        "AND p.p = json_extract(l.piece, '$[5].Piece') + 0 WHERE w.grid > 0 AND w.t = 0 "
        "AND l.state NOT IN ('completed_frozen', 'failed_frozen') AND (p.wave <> w.w OR p.n <> l.n)"
    ),
    "a grid job belongs to two waves": "SELECT grid FROM wave WHERE grid > 0 GROUP BY grid HAVING count(*) > 1",
    "a sent piece has no wave": (
        "SELECT p.p FROM piece p LEFT JOIN wave w ON w.task = p.task AND w.t = 0 AND w.w = p.wave "
        "WHERE p.state = 'sent' AND (w.w IS NULL OR w.state NOT IN ('intended', 'handed in'))"
    ),
    "a completed piece has no exit record": (
        "SELECT p.p FROM piece p JOIN wave w ON w.task = p.task AND w.t = 0 AND w.w = p.wave "
        "JOIN local_job l ON l.grid = w.grid AND l.n = p.n "
        "WHERE p.state = 'completed' AND (l.state <> 'completed' OR l.witness <> 'exit record')"
    ),
    "an output is there without a completed piece": (
        "SELECT o.id FROM output o JOIN piece p ON p.task = o.task AND p.p = o.p "
        "WHERE o.state IN ('verified', 'stored') AND p.state <> 'completed' "
        "AND NOT (p.state = 'sent' AND o.state = 'verified')"
    ),
    "a promise differs from its piece": (
        "SELECT p.p FROM output o JOIN piece p ON p.task = o.task AND p.p = o.p JOIN task t ON t.id = p.task "
        "WHERE CASE p.state WHEN 'completed' THEN o.state NOT IN ('verified', 'stored', 'withdrawn') "
        "AND NOT (o.state = 'broken' AND o.reason <> '' AND t.state IN ('cancelling', 'cancelled')) "
        "WHEN 'failed' THEN o.state <> 'broken' WHEN 'replaced' THEN o.state <> 'replaced' "
        "WHEN 'taken back' THEN o.state <> 'withdrawn' ELSE o.state NOT IN ('promised', 'verified') END "
        "AND NOT (o.state = 'withdrawn' AND EXISTS (SELECT 1 FROM output a WHERE a.task = o.task AND a.p = o.p "
        "AND a.stream = o.stream AND a.state <> 'withdrawn'))"  # an earlier attempt has brought more files
    ),
    "a completed piece has too few or too many outputs": (
        "SELECT p.p FROM piece p JOIN task t ON t.id = p.task JOIN json_each(t.spec, '$.output') s "
        "LEFT JOIN output o ON o.task = p.task AND o.p = p.p AND o.stream = json_extract(s.value, '$.name') "
        "WHERE p.state = 'completed' GROUP BY p.task, p.p, s.key "
        "HAVING json_extract(s.value, '$.each') <> 'any' AND count(o.id) <> json_extract(s.value, '$.each')"
    ),
    "a piece with a missing promise is in a wave": (
        "SELECT p.p FROM piece p JOIN piece_item x ON x.task = p.task AND x.p = p.p JOIN item i ON i.id = x.item "
        "WHERE p.state IN ('ready', 'sent', 'completed') AND i.there < 1 "
        "AND p.again <> 4 AND i.note NOT LIKE 'stale%' "  # what these were sent with is made again
        "AND p.p < (SELECT next_piece FROM task WHERE id = p.task)"
    ),
    "what is missing of a piece differs": (
        "SELECT p.p, p.missing FROM piece p JOIN piece_item x ON x.task = p.task AND x.p = p.p "
        "JOIN item i ON i.id = x.item WHERE p.state = 'waiting' GROUP BY p.task, p.p "
        "HAVING p.missing = 0 OR p.missing <> count(DISTINCT CASE WHEN i.there < 1 THEN i.id END)"
    ),
    "an item differs from the output that it is": (
        "SELECT i.id FROM item i JOIN output o ON o.id = i.output JOIN piece p ON p.task = o.task AND p.p = o.p "
        "WHERE i.output > 0 AND i.state NOT IN ('gone', 'dropped') AND CASE i.there "
        "WHEN 1 THEN o.state NOT IN ('verified', 'stored') WHEN -1 THEN o.state <> 'broken' "
        "ELSE o.state NOT IN ('promised', 'verified') OR (o.todo = '' AND p.state = 'completed') END"
    ),
    "an output is two items of a task": "SELECT 1 FROM item WHERE output > 0 GROUP BY task, output HAVING count(*) > 1",
}
