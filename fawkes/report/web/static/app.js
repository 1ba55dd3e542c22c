// The page: it asks for the state when it hears of news, and draws what it is told. Unknown is a dash, never 0.

import { panel } from "/static/act.js";
import { highest, lasting, line, stack } from "/static/charts.js";
import { $, el, visible } from "/static/parts.js";

const ROLES = [["core", "core"], ["transient_core", "transient-core (TC)"], ["transient", "transient (TR)"], ["joining", "joining"], ["leaving", "leaving"], ["lost", "lost"], ["free", "free"], ["out", "out of service"]];
const LAYERS = [["core", "core"], ["transient_core", "transient-core"], ["transient", "transient"], ["joining", "joining"], ["leaving", "leaving"], ["lost", "lost"]];
const SILENT_MS = 40000, COURSE_EVERY_MS = 4000;
let state = null, course = null, courseAt = 0, later = 0, figures = new Map(), chosen = { node: null, job: null }, heard = Date.now(), asking = false, again = false, newest = 0;

const known = (value, digits = 0) => (value === null || value === undefined ? "–" : Number(value).toFixed(digits));
const percent = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(0)} %`);
const there = (row) => row.state !== "gone";

function banner(text) {
  $("banner").hidden = !text;
  if ($("banner").textContent !== visible(text)) $("banner").textContent = visible(text);
}

function kindOf(node) {
  if (["joining", "lost", "out"].includes(node.state)) return node.state;
  if (node.cluster === null) return "free";
  if (["draining", "evacuating", "cleaning"].includes(node.state)) return "leaving";
  return (node.role ?? "free").replace("-", "_");
}

function drawHead() {
  const pool = state.pool;
  $("pool").textContent = pool.pool ?? "Fawkes";
  document.title = `${pool.pool ?? "Fawkes"}: ${state.clusters.filter(there).length} MR-clusters`;
  $("facts").replaceChildren(...state.headlines.map((text) => el("li", {}, text)));
}

function pair(name, value) {
  return [el("dt", {}, name), el("dd", {}, value)];
}

// The figures of each MR-cluster, drawn once for each course: curves of a week have thousands of points.
function drawFigures() {
  const span = [0, Math.max(course.end_s, 1)];
  const layers = (curves) => LAYERS.map(([kind, key]) => [kind, curves[key] ?? [[], []]]);
  const shown = Object.entries(course.clusters).filter(([name]) => state.simulated || state.clusters.some((row) => row.cluster === name && there(row)));
  const most = highest(shown.map(([, curves]) => layers(curves).map(([, curve]) => curve)));
  const figure = (svg, caption) => el("figure", {}, svg, el("figcaption", {}, caption));
  figures = new Map(shown.map(([name, curves]) => [name, [
    figure(stack(layers(curves), span, course.moves_s, most, `Nodes of ${name} over time`), "nodes; dotted: ticks that moved nodes"),
    figure(line(curves.waiting, span, `Waiting tasks of ${name}`), "waiting tasks"),
    figure(line(curves.weight, span, `Weight of ${name}`), "weight: the part of the pool that it is due"),
    figure(line(curves.discrimination, span, `Discrimination of ${name}`), "discrimination (share-seconds)")]]));
}

function card(row) {
  const parts = [el("header", {}, el("h3", {}, row.cluster), el("span", {}, row.state),
    there(row) ? el("span", { class: `health ${row.health}` }, row.health) : null, row.run_as ? el("span", { class: "soft" }, row.run_as) : null)];
  for (const text of state.troubles[row.cluster]) parts.push(el("p", { class: "alert" }, text));
  parts.push(el("dl", {},
    ...pair("nodes", `${row.nodes} (target ${known(row.target)}, min ${row.min_nodes})`), ...pair("share, weight", `${percent(row.share)}, ${percent(row.weight)}`),
    ...pair("jobs", `${known(row.jobs_running)} run, ${known(row.jobs_waiting)} wait`), ...pair("tasks", `${known(row.tasks_running)} run, ${known(row.tasks_waiting)} wait`)));
  const waste = state.waste?.find((each) => each.cluster === row.cluster);
  if (waste) parts.push(el("dl", { class: "waste" },
    ...pair("wasted slot time", `${known(waste.killed_work_s)} s killed work, ${known(waste.dumping_s)} s dumping, ${known(waste.restoring_s)} s restoring`),
    ...pair("useful slot time", waste.useful_s === null ? "–" : `${known(waste.useful_s)} s`),
    ...pair("saved tasks waited", `${known(waste.waiting_s)} s`),
    ...pair("not known", `tasks: ${waste.tasks_unknown} (${known(waste.unknown_s)} s), resumes: ${waste.tasks_unseen}`)));
  parts.push(...(figures.get(row.cluster) ?? []));
  return el("article", { class: there(row) ? "card" : "card gone", "data-cluster": row.cluster }, ...parts);
}

function drawClusters() {
  const rows = state.clusters.filter((row) => there(row) || state.simulated);
  $("clusters").replaceChildren(...(rows.length ? rows.map(card) : [el("p", { class: "soft" }, "None. `fawkes request` asks for one.")]));
}

function drawNodes() {
  const groups = new Map();
  for (const node of state.nodes) {
    const owner = node.cluster ?? "";
    if (!groups.has(owner)) groups.set(owner, []);
    groups.get(owner).push(node);
  }
  const focused = document.activeElement?.dataset?.node;
  const counts = Object.entries(Object.groupBy ? Object.groupBy(state.nodes, (node) => node.state) : {}).map(([name, nodes]) => `${nodes.length} ${name}`);
  $("node-sums").textContent = [counts.join(", "), "choose a node for its life"].filter(Boolean).join(" · ");
  $("nodes").replaceChildren(...[...groups].sort(([a], [b]) => (a === "") - (b === "") || a.localeCompare(b)).map(([owner, nodes]) =>
    el("div", { class: "rack" }, el("h3", {}, owner || "nobody's"), el("div", {}, ...nodes.map((node) => {
      const text = `${node.node}: ${node.state}${node.role ? `, ${node.role}` : ""}. ${node.brief}`;
      return el("button", { class: `node ${kindOf(node)}`, type: "button", title: text, "aria-label": text, "data-node": node.node, "aria-pressed": String(chosen.node === node.node) },
        node.alert ? "!" : node.master ? "M" : "");
    })))));
  if (focused) document.querySelector(`[data-node="${CSS.escape(focused)}"]`)?.focus();
}

// The life of the chosen node, or of the chosen job, in its place on the page.
async function drawLife(of = "node", place = "life") {
  const name = chosen[of];
  $(place).hidden = name === null;
  if (name === null) return;
  const answer = await fetch(`/api/explain/${of}/${encodeURIComponent(name)}`);
  const said = await answer.json();
  if (chosen[of] !== name) return;
  if (!answer.ok) { $(place).replaceChildren(el("p", { class: "alert" }, said.error)); return; }
  $(place).replaceChildren(el("h3", {}, said.title), ...courseOf(said.curves), el("ol", {}, ...said.lines.map((each) => el("li", {}, el("time", {}, each.time ?? ""), each.text))));
}

const drawJob = () => drawLife("job", "job-life");

// The course of a job under quotas: what was planned is dashed.
function courseOf(curves) {
  if (!curves?.seconds.length) return [];
  const span = [0, Math.max(1, curves.seconds.at(-1))];
  const figure = (title, row, planned) => el("figure", {}, el("figcaption", {}, title), line([curves.seconds, curves[row]], span, title, curves[planned]));
  return [figure("Tasks of the stage that are done, in percent; dashed: planned", "progress", "set_point"), figure("Cores given; dashed: requested", "given", "requested")];
}

function entry(row) {
  const decided = row.decided.map((text) => el("li", {}, text));
  return el("li", {}, el("time", {}, row.time), row.what, decided.length ? el("ul", {}, ...decided) : null);
}

function drawMoves() {
  const rows = [...state.moves].reverse();
  const shadow = state.pool.shadow ? [el("li", { class: "soft" }, "In shadow mode nothing moves: its ticks say what they would do.")] : [];
  $("moves").replaceChildren(...shadow, ...(rows.length ? rows.map((row) => el("li", {}, el("time", {}, row.time), `tick ${row.tick}`, el("ul", {}, ...row.decided.map((text) => el("li", {}, text)))))
    : [el("li", { class: "soft" }, "No tick has moved nodes yet.")]));
}

const COLUMNS = [["job", "job"], ["cluster", "MR-cluster"], ["state", "state"], ["attempt", "attempt"], ["submitted", "submitted"], ["wait_s", "wait"], ["run_s", "run"], ["slowdown", "slowdown"], ["why", "why"]];

function cell(row, key) {
  const value = row[key];
  if (["wait_s", "run_s"].includes(key)) return el("td", { class: "number" }, value === null ? "–" : lasting(value));
  if (key === "job") return el("td", {}, el("button", { type: "button", class: "choose", "data-choose": value, "aria-pressed": String(chosen.job === value) }, value));
  if (key === "slowdown") return el("td", { class: "number" }, known(value, 2));
  return el("td", { class: key === "why" ? "text" : null }, value === null || value === "" ? "–" : String(value));
}

function drawJobs() {
  const rows = [...state.jobs].reverse();
  $("job-sums").textContent = rows.length < state.job_count ? `the newest ${rows.length} of ${state.job_count}` : `${state.job_count} in all`;
  $("jobs").replaceChildren(el("thead", {}, el("tr", {}, ...COLUMNS.map(([, title]) => el("th", { scope: "col" }, title)))),
    el("tbody", {}, ...rows.map((row) => el("tr", { "data-job": row.job }, ...COLUMNS.map(([key]) => cell(row, key))))));
}

// Draws a part if it shows something new: tables of hundreds of rows seldom do.
const shown = {};
function renew(part, rows, drawn) {
  const text = JSON.stringify(rows);
  if (shown[part] !== text) { shown[part] = text; drawn(); }
}

function draw() {
  if (state.trouble) { banner(state.trouble); return; }
  const reading = state.reading === undefined ? "" : `The history is being read: ${state.reading} of ${state.of ?? "?"} steps. Until then curves end early, and there are no moves, jobs and steps.`;
  banner([state.stale, reading].filter(Boolean).join(". "));
  if (!state.pool) return;
  drawHead();
  drawClusters();
  renew("nodes", state.nodes, drawNodes);
  if (reading) return;
  renew("moves", [state.pool.shadow, state.moves], drawMoves);
  renew("jobs", [state.job_count, state.jobs], drawJobs);
  renew("steps", state.steps, () => $("steps").replaceChildren(...[...state.steps].reverse().map(entry)));
  document.body.dataset.seq = state.seq;
}

// Fetches the curves, every few seconds and after the last step as well; at once when the history has been read.
async function follow() {
  if (!state.pool || course?.seq >= state.seq) return;
  const wait = courseAt + COURSE_EVERY_MS - Date.now();
  clearTimeout(later);
  if (wait > 0) { later = setTimeout(refresh, wait); return; }
  const answer = await fetch("/api/course");
  if (!answer.ok) return;
  course = await answer.json();
  document.body.dataset.course = course.seq;
  courseAt = state.reading === undefined ? Date.now() : 0;
  drawFigures();
  // The first curves were asked for beside the first state, and may be older.
  if (course.seq < state.seq) later = setTimeout(refresh, COURSE_EVERY_MS);
}

async function refresh() {
  if (asking) { again = true; return; }
  asking = true;
  try {
    do {
      again = false;
      const answer = await fetch("/api/state");
      if (!answer.ok) throw new Error(await answer.text());
      state = await answer.json();
      heard = Date.now();
      await follow();
      draw();
      if (chosen.node !== null) await drawLife();
      if (chosen.job !== null) await drawJob();
    } while (again || state.seq < newest);
  } catch (error) {
    banner(`The page cannot be read: ${error.message}. What is shown is old.`);
  } finally {
    asking = false;
  }
}

$("legend").replaceChildren(...ROLES.map(([kind, title]) => el("li", {}, el("span", { class: `swatch ${kind}` }), title)));
$("nodes").addEventListener("click", (event) => {
  const name = event.target.dataset?.node;
  if (!name) return;
  chosen.node = chosen.node === name ? null : name;
  for (const each of document.querySelectorAll(".node")) each.setAttribute("aria-pressed", String(each.dataset.node === chosen.node));
  drawLife();
});
$("jobs").addEventListener("click", (event) => {
  const name = event.target.dataset?.choose;
  if (!name) return;
  chosen.job = chosen.job === name ? null : name;
  for (const each of document.querySelectorAll("[data-choose]")) each.setAttribute("aria-pressed", String(each.dataset.choose === chosen.job));
  drawJob();
});
const stream = new EventSource("/api/stream");
// The first message comes at once. Asking twice would draw all of it twice.
stream.onmessage = (event) => { heard = Date.now(); newest = Number(event.data); refresh(); };
// At once, and not after a silence: asking fails, and the page says that it is old.
stream.onerror = () => { newest = 0; refresh(); };
setInterval(() => { if (Date.now() - heard > SILENT_MS) banner("`fawkes web` does not answer. What is shown is old."); }, 5000);
panel(() => {
  const names = (of, key) => (state?.[of] ?? []).filter(there).map((row) => row[key]);
  const [clusters, nodes] = [names("clusters", "cluster"), names("nodes", "node")];
  return { clusters, nodes, names: [...clusters, ...nodes], jobs: names("jobs", "job") };
});
