// Pages work without this: it shows times in the reader's zone if they want that, and folds long pages on a phone.
"use strict";
(() => {
	const $ = (query, from) => [...(from || document).querySelectorAll(query)], main = document.getElementById("main");

	// Times: the text that came is kept, and is there again in UTC
	const button = $("#zone")[0], came = new WeakMap(), TIME = /^(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d( UTC)?$/;
	const mine = () => localStorage.getItem("jim-zone") === "mine";
	const zone = (then) => new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }).formatToParts(then).find((each) => each.type === "timeZoneName").value;
	const local = (text) => { // 2026-01-31 12:00:00
		const then = new Date(text), two = (number) => `${number}`.padStart(2, "0");
		return `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())} ${two(then.getHours())}:${two(then.getMinutes())}:${two(then.getSeconds())}`;
	};
	const show = (each, at, text) => {
		const last = came.get(each);
		if (last && last.shown === each.textContent) text = last.text;
		else if (at && !TIME.test(text) && !/^\d\d:\d\d$/.test(text)) return;
		const [, day, utc] = TIME.exec(text) || [], whole = at && local(at);
		const words = !mine() ? text : !at ? zone(new Date()) : text.length === 5 ? whole.slice(11, 16) : (day ? whole : whole.slice(11)) + (utc ? ` ${zone(new Date(at))}` : "");
		if (words !== each.textContent) each.textContent = words;
		came.set(each, { text, shown: words });
	};
	const times = () => {
		if (!button) return;
		for (const each of $("time[datetime], [data-at], [data-zone]")) if (mine() || came.has(each)) show(each, each.dateTime || each.dataset.at, each.textContent);
		button.setAttribute("aria-pressed", mine());
	};
	if (button && new Date().getTimezoneOffset() !== 0) {
		button.title = Intl.DateTimeFormat().resolvedOptions().timeZone;
		button.onclick = () => { localStorage.setItem("jim-zone", mine() ? "utc" : "mine"); times(); };
		button.hidden = false;
	} else localStorage.removeItem("jim-zone");

	// Folds: long sections and long tables, on a narrow screen
	const narrow = matchMedia("(max-width: 640px)"), opened = new Map(), ROWS = 10;
	const press = (name, words, long, act) => {
		const made = document.createElement("button"), set = (open) => { made.setAttribute("aria-expanded", open); act(open, made); };
		made.type = "button";
		made.className = "fold";
		made.textContent = words;
		made.onclick = () => { opened.set(name, !opened.get(name)); set(opened.get(name)); };
		if (!opened.has(name)) opened.set(name, !long);
		set(opened.get(name));
		return made;
	};
	const fold = () => {
		if (!narrow.matches || !main) return;
		for (const table of $("table.lines", main)) {
			const rows = $("tbody > tr", table), name = `table ${$("caption", table)[0]?.textContent || ""}`;
			if (rows.length <= ROWS + 3 || table.parentNode.querySelector(":scope > .fold")) continue;
			table.after(press(name, "", true, (open, made) => {
				if (open) delete table.dataset.few; else table.dataset.few = "";
				made.textContent = open ? `Only the first ${ROWS} rows` : `Show ${rows.length - ROWS} more rows`;
			}));
		}
		const sections = $(":scope > section:is(.row, .block)", main), target = document.getElementById(location.hash.slice(1));
		const long = main.scrollHeight > 2.5 * innerHeight;
		for (const [n, section] of sections.entries()) {
			const head = section.firstElementChild;
			if (head?.tagName !== "H2" || $("button", head)[0]) continue;
			const tall = long && n > 0 && section.scrollHeight > 0.4 * innerHeight && !section.contains(target);
			if (!tall && !opened.has(head.textContent)) continue;
			const words = head.textContent;
			head.replaceChildren(press(words, words, tall, (open) => { if (open) delete section.dataset.shut; else section.dataset.shut = ""; }));
		}
	};
	const arrange = () => { times(); fold(); };
	document.addEventListener("fresh", arrange);
	const unfold = () => {
		for (const each of $("[data-few], [data-shut]")) { delete each.dataset.few; delete each.dataset.shut; }
		for (const each of $(".fold")) if (each.parentNode.tagName === "H2") each.replaceWith(each.textContent); else each.remove();
	};
	narrow.onchange = () => { unfold(); fold(); };
	arrange();
})();
