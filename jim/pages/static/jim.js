// Pages work without this. It lets ages tick, replaces parts that have changed, and finds cells of the map.
"use strict";
(() => {
  const $ = (query, from) => Array.from((from || document).querySelectorAll(query));
  const EVERY = 5000, LONGEST = 60000, LATE = 15;
  let tag = null, began = performance.now(), heard = began, pause = EVERY, timer = 0, late = null;

  // Ages, by a clock that nobody can set
  const span = (seconds) => {
    if (seconds < 10) return Math.max(0, Math.floor(seconds)) + " s";
    let left = Math.round(seconds), words = [];
    for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]]) {
      if (left >= size || words.length) words.push(Math.floor(left / size) + " " + unit);
      left %= size;
    }
    return words.slice(0, 2).filter((word) => !word.startsWith("0 ")).join(" ");
  };
  const tick = () => {
    const gone = (performance.now() - began) / 1000;
    for (const each of $("time[data-age]")) each.textContent = span(+each.dataset.age + gone) + " ago";
    const silent = (performance.now() - heard) / 1000;
    if (silent > LATE && on() && !document.hidden) band("Not updated for " + span(silent) + ": the pages do not answer. Start them again with jim pages --port " + location.port + ".");
    else if (late && silent <= LATE) band("");
  };
  const band = (words) => {
    if (words && !late) {
      late = document.createElement("p");
      late.className = "band bad";
      late.setAttribute("role", "status");
      document.querySelector(".top").after(late);
    }
    if (words && late.textContent !== words) late.textContent = words;
    if (!words && late) { late.remove(); late = null; }
  };
  const clocks = (headers) => {
    const now = Date.parse(headers.get("JIM-Now")), gone = (performance.now() - began) / 1000;
    for (const [name, key] of [["JIM-Keeper-Seen", "keeper"], ["JIM-Batch-Seen", "batch"]]) {
      const seen = Date.parse(headers.get(name));
      if (seen) for (const each of $(`time[data-clock=${key}]`)) each.dataset.age = Math.max(0, (now - seen) / 1000) - gone;
    }
  };

  // Live parts
  const on = () => localStorage.getItem("jim-live") !== "off";
  const parts = (from) => new Map($("[data-part]", from).map((each) => [each.dataset.part, each]));
  const texts = new Map(Array.from(parts(document), ([name, each]) => [name, each.innerHTML]));
  const busy = (part) => {
    const chosen = getSelection();
    return (!chosen.isCollapsed && part.contains(chosen.anchorNode)) || (part.contains(document.activeElement) && /^(INPUT|SELECT)$/.test(document.activeElement.tagName));
  };
  const place = (node, part) => {
    if (!part.contains(node)) return null;
    if (node.id) return "#" + CSS.escape(node.id);
    return node.getAttribute("href") !== null ? `a[href="${CSS.escape(node.getAttribute("href"))}"]` : null;
  };
  const replace = (part, fresh) => {
    const open = $("details[open][id]", part).map((each) => each.id), focus = place(document.activeElement, part);
    part.innerHTML = fresh.innerHTML;
    for (const id of open) { const each = document.getElementById(id); if (each) each.open = true; }
    if (focus) { const again = part.querySelector(focus); if (again) again.focus({ preventScroll: true }); }
  };
  const take = (text) => {
    const fresh = new DOMParser().parseFromString(text, "text/html"), news = parts(fresh), olds = parts(document);
    const gone = (performance.now() - began) / 1000;
    for (const each of $("time[data-age]", fresh)) each.dataset.age -= gone;
    if (Array.from(olds.keys()).join() !== Array.from(news.keys()).join()) {
      const main = document.querySelector("main");
      if (busy(main)) return;
      replace(main, fresh.querySelector("main"));
      replace(olds.get("health"), news.get("health"));
      news.forEach((each, name) => texts.set(name, each.innerHTML));
    } else for (const [name, each] of news) {
      const bare = each.innerHTML.replace(/ data-age="[^"]*"|>[^<]* ago</g, "");
      if (texts.get(name) === bare || busy(olds.get(name))) continue;
      texts.set(name, bare);
      replace(olds.get(name), each);
    }
    document.title = fresh.title;
    const asof = document.querySelector(".asof time"), now = fresh.querySelector(".asof time");
    if (asof && now) { asof.textContent = now.textContent; asof.dateTime = now.dateTime; }
    say(fresh);
  };
  let said = document.title, lastSaid = 0;
  const say = (fresh) => {
    if (fresh.title === said || performance.now() - lastSaid < 30000) return;
    said = fresh.title; lastSaid = performance.now();
    const live = document.getElementById("said");
    if (live) live.textContent = said;
  };
  const poll = async () => {
    try {
      const stop = new AbortController(), limit = setTimeout(() => stop.abort(), 10000);
      const answer = await fetch(location.href, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store", signal: stop.signal });
      const text = answer.status === 200 ? await answer.text() : "";
      clearTimeout(limit);
      if (answer.status === 401) { location.reload(); return; }
      if (answer.status !== 200 && answer.status !== 304) throw new Error(answer.status);
      heard = performance.now(); pause = EVERY;
      tag = answer.headers.get("ETag");
      if (text) take(text);
      clocks(answer.headers);
    } catch { pause = Math.min(LONGEST, pause * 1.5); }
    tick();
    again();
  };
  const again = () => {
    clearTimeout(timer);
    if (on() && !document.hidden) timer = setTimeout(poll, pause * (0.9 + 0.2 * Math.random()));
  };
  const button = document.querySelector("#live button");
  if (button) {
    document.getElementById("live").hidden = false;
    const show = () => { button.setAttribute("aria-pressed", on()); button.title = on() ? "stop updating this page" : "update this page"; };
    button.addEventListener("click", () => { localStorage.setItem("jim-live", on() ? "off" : "on"); heard = performance.now(); show(); tick(); again(); });
    document.addEventListener("visibilitychange", () => { heard = performance.now(); if (!document.hidden && on()) poll(); else clearTimeout(timer); });
    for (const [name, each] of parts(document)) texts.set(name, each.innerHTML.replace(/ data-age="[^"]*"|>[^<]* ago</g, ""));
    show(); again(); setInterval(tick, 1000);
  }

  // The map
  const drawn = () => document.querySelector("#map svg");
  let cell = 0, asked = 0;
  const facts = () => { const each = drawn().dataset; return { first: +each.first, count: +each.count, per: +each.per, columns: +each.columns, cells: Math.ceil(each.count / each.per), grid: document.getElementById("map").dataset.grid }; };
  const mark = () => {
    const { columns } = facts(), cursor = drawn().querySelector(".cursor");
    cursor.setAttribute("x", (cell % columns) * 5); cursor.setAttribute("y", Math.floor(cell / columns) * 5);
    drawn().classList.add("on");
  };
  const where = () => { const f = facts(), n = f.first + cell * f.per; return f.per > 1 ? `/jobs/${f.grid}?n=${n}-${Math.min(n + f.per, f.first + f.count) - 1}` : `/jobs/${f.grid}/${n}`; };
  const tell = () => {
    clearTimeout(asked);
    const f = facts(), n = f.first + cell * f.per, line = document.getElementById("where");
    line.textContent = f.per > 1 ? `${f.grid}.${n} to ${f.grid}.${Math.min(n + f.per, f.first + f.count) - 1}` : `${f.grid}.${n}`;
    if (f.per === 1) asked = setTimeout(async () => {
      const answer = await fetch(`/jobs/${f.grid}.json?n=${n}`), found = answer.ok ? (await answer.json()).local_jobs[0] : null;
      if (found) line.textContent = `${found.id}: ${found.state}${found.host ? " on " + found.host : ""}, ${span((Date.now() - Date.parse(found.updated)) / 1000)} ago${found.reason ? ": " + found.reason.slice(0, 200) : ""}`;
    }, 200);
  };
  const at = (event) => {
    const box = drawn().getBoundingClientRect(), f = facts(), rows = Math.ceil(f.cells / f.columns);
    const x = Math.floor((event.clientX - box.left) / box.width * f.columns), y = Math.floor((event.clientY - box.top) / box.height * rows);
    return Math.min(f.cells - 1, Math.max(0, y * f.columns + x));
  };
  const onMap = (name, act) => document.addEventListener(name, (event) => { if (event.target.closest && event.target.closest("#map")) act(event); });
  onMap("click", (event) => { cell = at(event); location.href = where(); });
  onMap("mousemove", (event) => { const now = at(event); if (now !== cell) { cell = now; mark(); tell(); } });
  onMap("focusin", () => { if (!drawn().classList.contains("on")) { mark(); tell(); } });
  onMap("keydown", (event) => {
    const f = facts(), steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -f.columns, ArrowDown: f.columns, PageUp: -10 * f.columns, PageDown: 10 * f.columns, Home: -f.cells, End: f.cells };
    if (event.key === "Enter") { location.href = where(); return; }
    if (!(event.key in steps)) return;
    event.preventDefault();
    cell = Math.min(f.cells - 1, Math.max(0, cell + steps[event.key])); mark(); tell();
  });
})();
