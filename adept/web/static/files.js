// A file of one's own: looked at, explained, released and handed back by the code of `adept rewrite`.
import {ask, json, made} from "./play.js";

const element = id => document.getElementById(id);
const form = element("choices");
let key = null, latest = null, owed = "";  // what would be lost with the file

const tell = error => { element("file-error").textContent = error?.message ?? ""; };

function fill(select, values, chosen) {
  while (select.options.length && select.options[select.options.length - 1].value) select.remove(select.options.length - 1);
  select.append(...values.map(value => made("option", value, {value})));
  if (chosen && values.includes(chosen)) select.value = chosen;
}

// The newest file counts: the one before is forgotten, and so is one whose answer comes late.
async function take(file) {
  if (owed) return tell(new Error(owed));
  if (key) remove(key).catch(() => {});
  leave();
  latest = file;
  try {
    if (file.size > Number(element("file").dataset.most)) throw new Error("at most 20 MB can be dropped here: use adept rewrite for a larger file");
    const found = await (await ask("api/files", {body: file, headers: {"X-Filename": encodeURIComponent(file.name)}})).json();
    if (file !== latest) return await remove(found.key);
    sessionStorage.setItem("stem", file.name.replace(/\.[^.]*$/, ""));
    show(found.key, found);
  } catch (error) { if (file === latest) tell(error); }
}

function leave() {
  tell();
  sessionStorage.removeItem("file");
  key = latest = null;
  owed = "";
  form.hidden = true;
}

const remove = held => ask(`api/files/${held}`, {method: "DELETE"});

function show(held, found) {
  key = held;
  sessionStorage.setItem("file", key);
  form.reset();
  form.text_column.replaceChildren(...(found.text ? [] : [made("option", "choose one", {value: ""})]));
  fill(form.text_column, found.columns, found.text);
  fill(form.label_column, found.labels, found.labels.includes("intent") ? "intent" : "label");
  fill(form.person_column, found.columns);
  element("looked").textContent = `${found.records.toLocaleString("en")} records with ${found.columns.length === 1 ? "one column" : `${found.columns.length} columns`}: ${found.columns.join(", ")}.`;
  element("explained").replaceChildren();
  element("progress").hidden = element("fetch").hidden = true;
  element("release").disabled = false;
  form.hidden = false;
  update();
  form.text_column.focus();
}

function update() {
  form.querySelector(".for-labels").hidden = form.labels.value === "drop";
  form.querySelector(".for-person").hidden = !form.person_column.value;
}

function choices(epsilon) {
  const person = form.person_column.value;
  return {
    epsilon: epsilon(), text_column: form.text_column.value, label_column: form.label_column.value || null, labels: form.labels.value,
    label_set: form.label_set.value.split(",").map(name => name.trim()).filter(Boolean), person_column: person || null,
    max_records_per_person: person ? Number(form.max_records_per_person.value) : null, again: form.again.checked,
  };
}

function sentence(line) {
  return `${line[0].toUpperCase()}${line.slice(1)}.`;
}

async function explain(epsilon) {
  const held = key;
  tell();
  try {
    const said = await json(`api/files/${held}/explain`, choices(epsilon));
    if (held === key) element("explained").replaceChildren(...[...said.expected.map(sentence), said.statement].map(text => made("p", text)));
  } catch (error) { tell(error); }
}

async function release(epsilon) {
  tell();
  element("release").disabled = true;
  try { await follow(key, await json(`api/files/${key}/release`, choices(epsilon))); } catch (error) { stop(error); }
}

function stop(error) {
  owed = "";
  element("progress").hidden = true;
  element("release").disabled = false;
  tell(error);
}

async function follow(held, state) {
  owed = "the file is being released: wait for the end of its release";
  element("progress").hidden = false;
  element("bar").max = state.records;
  while (state.running) {
    await new Promise(resolve => setTimeout(resolve, 300));
    state = await json(`api/files/${held}`, undefined, "GET");
    element("bar").value = state.done;
    element("done").textContent = `${state.done.toLocaleString("en")} of ${state.records.toLocaleString("en")}`;
  }
  if (!state.finished) throw new Error(state.error);
  element("progress").hidden = true;
  offer();
}

// After a reload, the page shows the file that it showed before, if it is still held.
async function resume(held) {
  const found = await json(`api/files/${held}`, undefined, "GET").catch(() => null);
  if (!found || key || latest) return;
  show(held, found);
  if (!found.running && !found.finished) return;
  element("release").disabled = true;
  await follow(held, found).catch(stop);
}

function offer() {
  const links = [["text", "the private text"], ["statement", "its privacy statement"], ["card", "a card for whoever gets it"]].map(([part, name]) => {
    const button = made("button", `Save ${name}`, {type: "button", "data-part": part});
    button.addEventListener("click", () => save(part).catch(tell));
    return button;
  });
  element("fetch").replaceChildren("Released. ", ...links.flatMap(link => [link, " "]));
  element("fetch").hidden = false;
  links[0].focus();
  owed = "the released text is not saved: save it, or forget the file";
}

async function save(part) {
  const answer = await ask(`api/files/${key}/${part}`, {method: "GET"});
  const name = answer.headers.get("content-disposition")?.match(/filename="([^"]+)"/)?.[1] ?? part;
  const stem = sessionStorage.getItem("stem");  // of the dropped file, after which the results are named
  const link = made("a", "", {href: URL.createObjectURL(await answer.blob()), download: stem ? `${stem}.${name}` : name});
  link.click();
  if (part === "text") owed = "";
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function forget() {
  try { await remove(key); } catch (error) { return tell(error); }
  leave();
  element("file").value = "";
  element("file").focus();
}

function drop([file, ...others]) {
  if (others.length) tell(new Error("one file at a time: drop them one after the other"));
  else if (file) take(file);
}

export function dropping(epsilon) {
  const area = element("drop");
  element("file").addEventListener("click", event => { event.target.value = ""; });  // the same file, repaired, is a change
  element("file").addEventListener("change", event => event.target.files[0] && take(event.target.files[0]));
  for (const kind of ["dragover", "dragleave", "drop"])
    area.addEventListener(kind, event => { event.preventDefault(); area.classList.toggle("over", kind === "dragover"); });
  area.addEventListener("drop", event => drop(event.dataTransfer.files));
  for (const kind of ["dragover", "drop"])  // beside the area, the browser would leave the page and open the file
    addEventListener(kind, event => { if (event.dataTransfer.types.includes("Files")) event.preventDefault(); });
  form.addEventListener("change", update);
  form.addEventListener("submit", event => event.preventDefault());
  element("explain").addEventListener("click", () => explain(epsilon));
  element("release").addEventListener("click", () => release(epsilon));
  element("forget").addEventListener("click", forget);
  addEventListener("beforeunload", event => { if (owed) event.preventDefault(); });
  if (sessionStorage.getItem("file")) resume(sessionStorage.getItem("file"));
}
