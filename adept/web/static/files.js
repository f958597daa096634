// A file of one's own: looked at, explained, released and handed back by the code of `adept rewrite`.
import {ask, json, made} from "./play.js";

const element = id => document.getElementById(id);
const form = element("choices");
let key = null;

const tell = error => { element("file-error").textContent = error?.message ?? ""; };

function fill(select, values, chosen) {
  while (select.options.length && select.options[select.options.length - 1].value) select.remove(select.options.length - 1);
  select.append(...values.map(value => made("option", value, {value})));
  if (chosen && values.includes(chosen)) select.value = chosen;
}

async function take(file) {
  tell();
  try {
    const answer = await ask("/api/files", {body: file, headers: {"X-Filename": encodeURIComponent(file.name)}});
    const found = await answer.json();
    key = found.key;
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
  } catch (error) { form.hidden = true; tell(error); }
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
  tell();
  try {
    const said = await json(`/api/files/${key}/explain`, choices(epsilon));
    element("explained").replaceChildren(...[...said.expected.map(sentence), said.statement].map(text => made("p", text)));
  } catch (error) { tell(error); }
}

async function release(epsilon) {
  tell();
  element("release").disabled = true;
  try {
    let state = await json(`/api/files/${key}/release`, choices(epsilon));
    element("progress").hidden = false;
    element("bar").max = state.records;
    while (state.running) {
      await new Promise(resolve => setTimeout(resolve, 300));
      state = await (await ask(`/api/files/${key}`, {method: "GET"})).json();
      element("bar").value = state.done;
      element("done").textContent = `${state.done.toLocaleString("en")} of ${state.records.toLocaleString("en")}`;
    }
    if (state.error) throw new Error(state.error);
    element("progress").hidden = true;
    offer();
  } catch (error) { element("progress").hidden = true; element("release").disabled = false; tell(error); }
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
}

async function save(part) {
  const answer = await ask(`/api/files/${key}/${part}`, {method: "GET"});
  const name = answer.headers.get("content-disposition")?.match(/filename="([^"]+)"/)?.[1] ?? part;
  const link = made("a", "", {href: URL.createObjectURL(await answer.blob()), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function forget() {
  await ask(`/api/files/${key}`, {method: "DELETE"}).catch(tell);
  form.hidden = true;
  element("file").value = "";
  element("file").focus();
}

export function dropping(epsilon) {
  const area = element("drop");
  element("file").addEventListener("change", event => event.target.files[0] && take(event.target.files[0]));
  for (const kind of ["dragover", "dragleave", "drop"])
    area.addEventListener(kind, event => { event.preventDefault(); area.classList.toggle("over", kind === "dragover"); });
  area.addEventListener("drop", event => event.dataTransfer.files[0] && take(event.dataTransfer.files[0]));
  form.addEventListener("change", update);
  form.addEventListener("submit", event => event.preventDefault());
  element("explain").addEventListener("click", () => explain(epsilon));
  element("release").addEventListener("click", () => release(epsilon));
  element("forget").addEventListener("click", forget);
}
