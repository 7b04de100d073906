// Pages work without this: it draws ages, replaces what has changed, and finds cells of the map.
"use strict";
(() => {
	const $ = (query, from) => [...(from || document).querySelectorAll(query)], id = (name) => document.getElementById(name);
	const EVERY = 5000, LONGEST = 60000, LATE = 15;
	const clock = () => performance.now() / 1000; // nobody can set it
	let tag = "", heard = clock(), pause = EVERY, refused = "", timer;
	const late = id("late");
	const on = () => localStorage.getItem("jim-live") !== "off";

	// Ages
	const span = (seconds) => {
		let left = Math.max(0, Math.floor(seconds)), words = [];
		for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]]) {
			if (left >= size || words[0]) words.push(Math.floor(left / size) + " " + unit);
			left %= size;
		}
		return words.slice(0, 2).filter((word) => word[0] !== "0").join(" ") || "0 s";
	};
	let ahead = -Infinity; // the clock of the pages against `performance`, in ms
	const hear = (gap) => { if (gap > ahead || gap < ahead - 1e4) ahead = gap; };
	const draw = (from) => {
		if (ahead > 0) $("[data-age]", from).forEach((each) => { each.textContent = span(clock() + (ahead - Date.parse(each.dateTime)) / 1000) + " ago"; });
	};
	const tick = () => {
		draw();
		const silent = (clock() - heard > LATE || /^4/.test(refused)) && on() && !document.hidden;
		if (silent) late.textContent = `Not updated for ${span(clock() - heard)}: the pages ` + (refused ? `answer “${refused}”. Reload to see why.` : "do not answer. Is jim pages still running?");
		late.hidden = !silent;
	};
	const clocks = (headers) => {
		hear(Date.parse(headers.get("JIM-Now")) - performance.now());
		$("[data-clock]").forEach((each) => { each.dateTime = headers.get(`JIM-${each.dataset.clock}-Seen`); });
	};

	// Live: the children of main; of one with a form, the parts inside
	const pieces = (from) => {
		const found = new Map();
		for (const each of [...$("[data-part=health]", from), ...$("#main > *", from)]) {
			let name = each.dataset.part || each.id || each.className || each.tagName;
			while (found.has(name)) name += "+";
			found.set(name, each);
		}
		return found;
	};
	const live = (piece) => $("form,[data-part]", piece)[0] ? $("[data-part]", piece) : [piece];
	const bare = (part) => {
		const copy = part.cloneNode(true);
		$("[data-clock]", copy).forEach((each) => each.remove());
		return copy.innerHTML;
	};
	const note = (piece) => { live(piece).forEach((each) => { each.told = bare(each); }); draw(piece); fresh(); };
	const fresh = () => document.dispatchEvent(new Event("fresh")); // for reader.js
	const busy = (part) => {
		const chosen = getSelection(), at = document.activeElement;
		return part.contains(at) && /INPUT|SELECT/.test(at.tagName) || !chosen.isCollapsed && part.contains(chosen.anchorNode);
	};
	const known = (each) => each.id || each.getAttribute("href") || (each.firstChild || each).textContent;
	const replace = (part, fresh) => {
		if (part.told === bare(fresh) || busy(part)) return;
		const open = $("details[open]", part).map(known), at = document.activeElement, name = part.contains(at) && known(at);
		part.innerHTML = fresh.innerHTML;
		note(part);
		$("details", part).forEach((each) => { each.open = open.includes(known(each)); });
		const again = name && $("a,button,summary,pre,[tabindex]", part).find((each) => known(each) === name);
		if (again) again.focus({ preventScroll: true });
	};
	let said = 0;
	const take = (text) => {
		const page = new DOMParser().parseFromString(text, "text/html"), olds = pieces(document), main = id("main");
		let at = main.firstElementChild;
		for (const [name, each] of pieces(page)) {
			const old = olds.get(name);
			if (olds.delete(name)) {
				if (old.parentNode === main) at = old.nextElementSibling;
				const parts = live(old);
				live(each).forEach((news, n) => { if (parts[n]) replace(parts[n], news); });
			} else {
				main.insertBefore(each, at);
				note(each);
			}
		}
		for (const each of olds.values()) if (!busy(each)) each.remove();
		$(".asof time")[0].replaceWith($(".asof time", page)[0]);
		fresh();
		if (page.title !== document.title && clock() > said) {
			said = clock() + 30;
			id("said").textContent = document.title = page.title;
		}
	};
	const poll = async () => {
		try {
			const answer = await fetch(location.href, { headers: { "If-None-Match": tag }, cache: "no-store", signal: AbortSignal.timeout(10000) });
			refused = answer.ok || answer.status === 304 ? "" : `${answer.status} ${answer.statusText}`;
			if (answer.status === 401) return location.reload();
			if (refused) throw refused;
			if (answer.ok) take(await answer.text());
			heard = clock();
			pause = EVERY;
			tag = answer.headers.get("ETag");
			clocks(answer.headers);
		} catch { pause = Math.min(LONGEST, pause * 1.5); }
		tick();
		wait();
	};
	const wait = () => {
		clearTimeout(timer);
		if (on() && !document.hidden) timer = setTimeout(poll, pause * (0.9 + 0.2 * Math.random()));
	};
	const [load] = performance.getEntriesByType("navigation");
	load?.serverTiming?.forEach((each) => hear(each.duration - load.responseStart));
	const button = $("#live button")[0];
	if (button) {
		const show = () => button.setAttribute("aria-pressed", on());
		const anew = () => { heard = clock(); show(); tick(); wait(); };
		button.onclick = () => { localStorage.setItem("jim-live", on() ? "off" : "on"); anew(); };
		document.onvisibilitychange = () => { anew(); if (on() && !document.hidden) poll(); };
		id("live").hidden = false;
		pieces(document).forEach(note);
		anew();
		setInterval(tick, 1000);
	}

	// Open parts are in the address
	const opened = location.hash && id(location.hash.slice(1));
	if (opened?.tagName === "DETAILS") opened.open = true;
	document.addEventListener("toggle", ({ target }) => { if (target.id) history.replaceState(null, "", target.open ? "#" + target.id : location.pathname + location.search); }, true);

	// The map
	let cell = -1, asked;
	const facts = () => {
		const { first, count, per, columns } = Object.fromEntries(Object.entries($("#map svg")[0].dataset).map(([name, value]) => [name, +value]));
		const n = first + cell * per, last = Math.min(n + per, first + count) - 1, { grid, root } = id("map").dataset;
		return { n, per, columns, cells: Math.ceil(count / per), grid, root, name: `${grid}.${n}${per > 1 ? ` to ${grid}.${last}` : ""}`, where: `${root}/jobs/${grid}${per > 1 ? `?n=${n}-${last}#map` : `/${n}`}` };
	};
	const go = (to) => {
		const { cells, columns } = facts(), cursor = $("#map .cursor")[0];
		cell = Math.min(cells - 1, Math.max(0, to));
		cursor.setAttribute("x", cell % columns * 5);
		cursor.setAttribute("y", Math.floor(cell / columns) * 5);
		$("#map svg")[0].classList.add("on");
		const { n, per, grid, name, root } = facts();
		id("where").textContent = name;
		clearTimeout(asked);
		if (per === 1) asked = setTimeout(async () => {
			const answer = await fetch(`${root}/jobs/${grid}.json?n=${n}`), [found] = answer.ok ? (await answer.json()).local_jobs : [];
			if (found) id("where").textContent = `${name}: ${found.state}${found.host && " on " + found.host}${found.reason && ": " + found.reason.slice(0, 200)}`;
		}, 200);
	};
	const at = (event) => {
		const box = $("#map svg")[0].getBoundingClientRect(), { columns, cells } = facts();
		return Math.floor((event.clientY - box.top) / box.height * Math.ceil(cells / columns)) * columns + Math.floor((event.clientX - box.left) / box.width * columns);
	};
	const onMap = (name, act) => document.addEventListener(name, (event) => { if (event.target.closest?.("#map")) act(event); });
	onMap("click", (event) => { go(at(event)); location.href = facts().where; });
	onMap("mousemove", (event) => { if (at(event) !== cell) go(at(event)); });
	onMap("focusin", () => { if (cell < 0) go(0); });
	onMap("keydown", (event) => {
		const { columns, cells, where } = facts();
		const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, PageUp: -10 * columns, PageDown: 10 * columns, Home: -cells, End: cells };
		if (event.key === "Enter") location.href = where;
		if (!(event.key in steps)) return;
		event.preventDefault();
		go(cell + steps[event.key]);
	});
})();
