// The panel for holders of tokens: a form for each verb, made of the description of the API. The controller judges.

import { $, el } from "/static/parts.js";

const ROLES = ["viewer", "user", "operator"];
// `stop` ends the controller: nobody could start it again from here.
const LEFT_OUT = ["stop"];
const KEPT = "fawkes-token";
let verbs = {}, known = () => ({}), edition = 0;

const authorized = () => ({ authorization: `Bearer ${sessionStorage.getItem(KEPT)}` });
const titled = (name) => (name === "until_us" ? "until (UTC)" : name.replaceAll("_", " "));

function say(...lines) {
  $("act-answer").replaceChildren(...lines.map((line) => el("li", {}, line)));
}

function field(name, schema, required) {
  const kind = schema.type ?? schema.anyOf?.[0].type;
  const id = `act-${name}`;
  const type = name === "until_us" ? "datetime-local" : { boolean: "checkbox", integer: "number" }[kind] ?? "text";
  const list = { subject: "names", cluster: "clusters", node: "nodes", to: "nodes", job: "jobs" }[name];
  const input = el("input", { id, name, type, required: required && type !== "checkbox" ? "" : null, min: schema.minimum ?? null, max: schema.maximum ?? null,
    maxlength: schema.maxLength ?? null, list: list ? `act-${list}` : null, autocomplete: "off" });
  if (type === "number") input.value = schema.default ?? "";
  return el("p", {}, el("label", { for: id }, titled(name)), input);
}

function drawFields() {
  const schema = verbs[$("act-verb").value].schema;
  const names = Object.keys(schema.properties ?? {}).filter((name) => name !== "dry_run");
  $("act-fields").replaceChildren(...names.map((name) => field(name, schema.properties[name], (schema.required ?? []).includes(name))));
  $("act-summary").textContent = verbs[$("act-verb").value].summary;
  changed();
}

function changed() {
  edition += 1;
  $("act-do").disabled = true;
  say();
}

// The verbs that have a dry run of their own: the core asks the masters for it.
const asksMasters = () => Boolean(verbs[$("act-verb").value].schema.properties?.dry_run);

function body(dry) {
  const values = {};
  for (const input of $("act-fields").querySelectorAll("input")) {
    if (input.type === "checkbox") values[input.name] = input.checked;
    else if (input.value === "") continue;
    else if (input.type === "datetime-local") values[input.name] = new Date(`${input.value}Z`).getTime() * 1000;
    else values[input.name] = input.type === "number" ? Number(input.value) : input.value;
  }
  if (asksMasters()) values.dry_run = dry;
  return JSON.stringify(values);
}

async function ask(dry) {
  edition += 1;
  const shown = edition;
  $("act-do").disabled = true;
  say("The controller is asked.");
  try {
    const answer = await fetch(`/api/${$("act-verb").value}${dry && !asksMasters() ? "?dry_run=1" : ""}`,
      { method: "POST", headers: { ...authorized(), "content-type": "application/json" }, body: body(dry) });
    const told = await answer.json();
    // The fields are others by now: "Do it" would do something that nobody has seen.
    if (dry && shown !== edition) return;
    if (told.error) { say([told.error.where, told.error.what].filter(Boolean).join(": "), ...[told.error.hint].filter(Boolean)); return; }
    const facts = Object.entries(told.facts).filter(([name]) => name !== "would").map(([name, value]) => `${titled(name)}: ${JSON.stringify(value)}`);
    const first = told.ok ? (dry ? "It would be accepted." : "Accepted.") : "Refused:";
    say(first, ...told.says, ...(dry ? [] : facts));
    $("act-do").disabled = !(dry && told.ok);
  } catch (error) {
    say(`The page does not answer: ${error.message}. \`fawkes status\` shows whether it was done.`);
  }
}

async function open() {
  const answer = await fetch("/api/token", { headers: authorized() });
  const holder = answer.ok ? await answer.json() : null;
  const allowed = holder ? Object.keys(verbs).filter((verb) => ROLES.indexOf(verbs[verb].role) <= ROLES.indexOf(holder.role)) : [];
  if (!allowed.length) sessionStorage.removeItem(KEPT);
  $("act-form").hidden = !allowed.length;
  $("token-form").hidden = allowed.length > 0;
  $("token-answer").textContent = holder && !allowed.length ? "This token only reads." : holder ? "" : "This is no token of the page.";
  if (!allowed.length) return;
  $("act-holder").textContent = `Acting as ${holder.name} (${holder.role}). The ledger names you.`;
  $("act-verb").replaceChildren(...allowed.map((verb) => el("option", { value: verb }, verb)));
  drawFields();
}

function suggest() {
  for (const [list, names] of Object.entries(known())) $(`act-${list}`).replaceChildren(...names.map((value) => el("option", { value })));
}

// Ready once the description of the API has verbs; `names` gives the names that fields suggest.
export async function panel(names) {
  known = names;
  const described = await (await fetch("/openapi.json")).json();
  const schemaOf = (post) => described.components.schemas[post.requestBody.content["application/json"].schema.$ref.split("/").pop()];
  verbs = Object.fromEntries(Object.entries(described.paths).filter(([, item]) => item.post).map(([path, { post }]) =>
    [path.split("/").pop(), { role: post["x-role"], summary: post.summary, schema: schemaOf(post) }])
    .filter(([verb, { schema }]) => !LEFT_OUT.includes(verb) && !Object.values(schema.properties ?? {}).some((each) => each.$ref)));
  if (!Object.keys(verbs).length) return;
  $("act").hidden = false;
  $("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEPT, $("token").value.trim());
    $("token").value = "";
    open();
  });
  $("act-verb").addEventListener("change", drawFields);
  $("act-form").addEventListener("input", changed);
  $("act-form").addEventListener("focusin", suggest);
  $("act-form").addEventListener("submit", (event) => { event.preventDefault(); ask(true); });
  $("act-do").addEventListener("click", () => ask(false));
  $("act-forget").addEventListener("click", () => { sessionStorage.removeItem(KEPT); open(); });
  if (sessionStorage.getItem(KEPT)) open();
}
