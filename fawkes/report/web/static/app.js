// The page: it asks for the state when it hears of news, and draws what it is told. Unknown is a dash, never 0.

import { panel } from "/static/act.js";
import { highest, lasting, line, stack } from "/static/charts.js";
import { $, el } from "/static/parts.js";

const ROLES = [["core", "core"], ["transient_core", "transient-core (TC)"], ["transient", "transient (TR)"], ["leaving", "leaving"], ["lost", "lost"], ["free", "free"]];
const LAYERS = [["core", "core"], ["transient_core", "transient-core"], ["transient", "transient"], ["leaving", "leaving"]];
const SILENT_MS = 40000, COURSE_EVERY_MS = 4000;
let state = null, course = null, courseAt = 0, chosen = null, heard = Date.now(), asking = false, again = false;

const known = (value, digits = 0) => (value === null || value === undefined ? "–" : Number(value).toFixed(digits));
const percent = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(0)} %`);
const there = (row) => row.state !== "gone";

function banner(text) {
  $("banner").hidden = !text;
  if ($("banner").textContent !== text) $("banner").textContent = text;
}

function kindOf(node) {
  if (node.state === "lost" || node.state === "out") return "lost";
  if (node.cluster === null) return "free";
  if (["draining", "evacuating", "cleaning"].includes(node.state)) return "leaving";
  return (node.role ?? "free").replace("-", "_");
}

function drawHead() {
  const pool = state.pool;
  $("pool").textContent = pool.pool ?? "Fawkes";
  document.title = `${pool.pool ?? "Fawkes"}: ${state.clusters.filter(there).length} MR-clusters`;
  $("verdict").textContent = pool.verdict ?? "No tick yet.";
  const facts = [pool.simulated ? "a simulated run; times count from its start" : `controller ${pool.controller}`, `policy ${pool.policy}`,
    `${pool.nodes} nodes: ${pool.held} held, ${pool.free} free, ${pool.out} out of service, ${pool.lost} lost`, `as of ${pool.as_of}`];
  if (pool.paused) facts.unshift(`PAUSED: ${pool.paused}`);
  $("facts").textContent = facts.join(" · ");
}

function pair(name, value) {
  return [el("dt", {}, name), el("dd", {}, value)];
}

function card(row) {
  const curves = course?.clusters?.[row.cluster];
  const parts = [el("header", {}, el("h3", {}, row.cluster), el("span", {}, row.state),
    there(row) ? el("span", { class: `health ${row.health}` }, row.health) : null, row.run_as ? el("span", { class: "soft" }, row.run_as) : null)];
  if (row.why) parts.push(el("p", {}, row.why));
  for (const alert of row.alerts) parts.push(el("p", { class: "alert" }, alert));
  parts.push(el("dl", {},
    ...pair("nodes", `${row.nodes} (target ${known(row.target)}, min ${row.min_nodes})`), ...pair("share, weight", `${percent(row.share)}, ${percent(row.weight)}`),
    ...pair("jobs", `${known(row.jobs_running)} run, ${known(row.jobs_waiting)} wait`), ...pair("tasks", `${known(row.tasks_running)} run, ${known(row.tasks_waiting)} wait`)));
  if (curves) {
    const span = [0, Math.max(course.end_s, 1)];
    const layers = LAYERS.map(([kind, key]) => [kind, curves[key] ?? [[], []]]);
    const most = highest(Object.values(course.clusters).map((each) => LAYERS.map(([, key]) => each[key] ?? [[], []])));
    parts.push(el("figure", {}, stack(layers, span, course.moves_s, most, `Nodes of ${row.cluster} over time`), el("figcaption", {}, "nodes; dotted: ticks that moved nodes")));
    parts.push(el("figure", {}, line(curves.waiting, span, `Waiting tasks of ${row.cluster}`), el("figcaption", {}, "waiting tasks")));
    parts.push(el("figure", {}, line(curves.weight, span, `Weight of ${row.cluster}`), el("figcaption", {}, "weight: the part of the pool that it is due")));
    parts.push(el("figure", {}, line(curves.discrimination, span, `Discrimination of ${row.cluster}`), el("figcaption", {}, "discrimination (share-seconds)")));
  }
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
    groups.set(owner, [...(groups.get(owner) ?? []), node]);
  }
  const focused = document.activeElement?.dataset?.node;
  const counts = Object.entries(Object.groupBy ? Object.groupBy(state.nodes, (node) => node.state) : {}).map(([name, nodes]) => `${nodes.length} ${name}`);
  $("node-sums").textContent = [counts.join(", "), "choose a node for its life"].filter(Boolean).join(" · ");
  $("nodes").replaceChildren(...[...groups].sort(([a], [b]) => (a === "") - (b === "") || a.localeCompare(b)).map(([owner, nodes]) =>
    el("div", { class: "rack" }, el("h3", {}, owner || "nobody's"), el("div", {}, ...nodes.map((node) => {
      const text = `${node.node}: ${node.state}${node.role ? `, ${node.role}` : ""}. ${node.brief}`;
      return el("button", { class: `node ${kindOf(node)}`, type: "button", title: text, "aria-label": text, "data-node": node.node, "aria-pressed": String(chosen === node.node) },
        node.alert ? "!" : node.master ? "M" : "");
    })))));
  if (focused) document.querySelector(`[data-node="${CSS.escape(focused)}"]`)?.focus();
}

async function drawLife() {
  const name = chosen;
  $("life").hidden = name === null;
  if (name === null) return;
  const answer = await fetch(`/api/explain/node/${encodeURIComponent(name)}`);
  const said = await answer.json();
  if (chosen !== name) return;
  if (!answer.ok) { $("life").replaceChildren(el("p", { class: "alert" }, said.error)); return; }
  $("life").replaceChildren(el("h3", {}, said.title), el("ol", {}, ...said.lines.map((each) => el("li", {}, el("time", {}, each.time ?? ""), each.text))));
}

function entry(row) {
  const decided = row.decided.map((text) => el("li", {}, text));
  return el("li", {}, el("time", {}, row.time), row.what, decided.length ? el("ul", {}, ...decided) : null);
}

function drawMoves() {
  const rows = [...state.moves].reverse();
  $("moves").replaceChildren(...(rows.length ? rows.map((row) => el("li", {}, el("time", {}, row.time), `tick ${row.tick}`, el("ul", {}, ...row.decided.map((text) => el("li", {}, text)))))
    : [el("li", { class: "soft" }, "No tick has moved nodes yet.")]));
}

const COLUMNS = [["job", "job"], ["cluster", "MR-cluster"], ["state", "state"], ["attempt", "attempt"], ["submitted", "submitted"], ["wait_s", "wait"], ["run_s", "run"], ["slowdown", "slowdown"], ["why", "why"]];

function cell(row, key) {
  const value = row[key];
  if (["wait_s", "run_s"].includes(key)) return el("td", { class: "number" }, value === null ? "–" : lasting(value));
  if (key === "slowdown") return el("td", { class: "number" }, known(value, 2));
  return el("td", { class: key === "why" ? "text" : null }, value === null || value === "" ? "–" : String(value));
}

function drawJobs() {
  const rows = [...state.jobs].reverse();
  $("job-sums").textContent = rows.length < state.job_count ? `the newest ${rows.length} of ${state.job_count}` : `${state.job_count} in all`;
  $("jobs").replaceChildren(el("thead", {}, el("tr", {}, ...COLUMNS.map(([, title]) => el("th", { scope: "col" }, title)))),
    el("tbody", {}, ...rows.map((row) => el("tr", { "data-job": row.job }, ...COLUMNS.map(([key]) => cell(row, key))))));
}

function draw() {
  if (state.trouble) { banner(state.trouble); return; }
  if (state.reading !== undefined) { banner(`Reading the ledger: ${state.reading} of ${state.of ?? "?"} steps.`); return; }
  banner(state.stale);
  drawHead();
  drawClusters();
  drawNodes();
  drawMoves();
  drawJobs();
  $("steps").replaceChildren(...[...state.steps].reverse().map(entry));
  document.body.dataset.seq = state.seq;
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
      if (state.seq !== undefined && (course === null || Date.now() - courseAt > COURSE_EVERY_MS)) {
        const curves = await fetch("/api/course");
        if (curves.ok) { course = await curves.json(); courseAt = Date.now(); }
      }
      draw();
      if (chosen !== null) await drawLife();
    } while (again);
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
  chosen = chosen === name ? null : name;
  for (const each of document.querySelectorAll(".node")) each.setAttribute("aria-pressed", String(each.dataset.node === chosen));
  drawLife();
});
const stream = new EventSource("/api/stream");
stream.onmessage = () => { heard = Date.now(); refresh(); };
// At once, and not after a silence: asking fails, and the page says that it is old.
stream.onerror = () => refresh();
setInterval(() => { if (Date.now() - heard > SILENT_MS) banner("`fawkes web` does not answer. What is shown is old."); }, 5000);
refresh();
panel(() => {
  const names = (of, key) => (state?.[of] ?? []).filter(there).map((row) => row[key]);
  const [clusters, nodes] = [names("clusters", "cluster"), names("nodes", "node")];
  return { clusters, nodes, names: [...clusters, ...nodes], jobs: names("jobs", "job") };
});
