// The page: asks this machine for releases, and draws what comes back. Whatever was typed is put on the page as text, never as markup.
import {atMost, bars, odds} from "./draw.js";
import {dropping} from "./files.js";

const element = id => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token");
const stops = element("epsilon").dataset.stops.split(" ").map(Number);
const epsilon = () => stops[Number(element("epsilon").value)];
const people = Number(element("epsilon").dataset.people).toLocaleString("en");
let released = 0, spent = 0, current = null;

const stopped = error => error.name === "AbortError" ? error : new Error("adept play has stopped: start it again");

export async function ask(path, {method = "POST", body, headers = {}, signal} = {}) {
  if (token) headers.Authorization = `Bearer ${token}`;
  let answer;
  try { answer = await fetch(path, {method, body, headers, signal}); } catch (error) { throw stopped(error); }
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error ?? `status ${answer.status}`);
  return answer;
}

export const json = async (path, question, method = "POST") => (await ask(path, {method, body: JSON.stringify(question)})).json();

// What is answered line by line: the first line is there at once, some come seconds later.
async function* lines(path, question, signal) {
  const reader = (await ask(path, {body: JSON.stringify(question), signal})).body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const {value, done} = await reader.read().catch(error => { throw stopped(error); });
    if (done) return;
    const complete = (rest + value).split("\n");
    rest = complete.pop();
    for (const line of complete) yield JSON.parse(line);
  }
}

export function made(name, text, attributes = {}) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

// The bound of reader.py, never rounded down.
function meaning(epsilon) {
  const others = Number(element("epsilon").dataset.people) - 1, bound = 1 / (1 + others * Math.exp(-epsilon));
  return bound > .999 ? "A reader may be certain that it was you." : `Among ${people} equally likely people, a reader finds you with at most ${atMost(bound, " guess", " guesses")}.`;
}

function showBudget() {
  element("shown").textContent = epsilon();
  element("epsilon").setAttribute("aria-valuetext", `epsilon ${epsilon()}`);
  element("file-epsilon").textContent = epsilon();
  element("meaning").textContent = meaning(epsilon());
}

function written(one) {
  const list = made("ul", undefined, {class: "written"});
  list.append(...one.texts.map(text => made("li", text || "(nothing)")));
  const title = one.holds ? one.title : `${one.title}: it says epsilon ${one.claimed} and spends ${one.spends}`;
  return [made("h3", title, one.holds ? {} : {class: "broken"}), list];
}

function seen(one, alone, view) {
  const parts = [made("p", one.sentence, {class: one.holds ? "said" : "said broken"}), bars(view)];
  return alone ? parts : [made("h3", one.title), ...parts];
}

// What of the page is of an earlier release is pale for as long.
function wait(said, pale = []) {
  element("wait").textContent = said;
  for (const id of ["written", "views"]) element(id).classList.toggle("pale", pale.includes(id));
}

function count(played) {
  released += played.length;
  spent += played.reduce((sum, one) => sum + Number(one.epsilon), 0);
  const total = Number.isFinite(spent) ? Math.ceil(spent * 10) / 10 : "more than any budget";
  element("count").textContent = `${released} release${released === 1 ? "" : "s"} so far, which spend${released === 1 ? "s" : ""} ${Number.isFinite(spent) ? `a budget of ${total}` : total}${released === 1 ? "" : " together"}.`;
}

// The texts come first; what readers believe follows, unless another change came before. What takes long, once, says so.
async function play() {
  const text = element("text").value.trim(), asked = new AbortController();
  const mechanisms = [...document.querySelectorAll("[name=mechanism]:checked")].map(box => box.value);
  if (current?.counted) current.abort();
  current = asked;
  element("error").textContent = "";
  wait("");
  if (!text || !mechanisms.length) {
    element("error").textContent = text ? "Tick at least one way to blur." : "Type something that a person might say.";
    return;
  }
  let played, views = [];
  const late = () => asked === current && wait(played ? `The reader is reading the sentences of ${people} people. This takes some seconds, only once.`
    : "Preparing this budget. This takes some seconds, only once.", played ? ["views"] : ["written", "views"]);
  const slow = setTimeout(late, 500);
  try {
    for await (const line of lines("api/play", {text, epsilon: epsilon(), mechanisms}, asked.signal)) {
      if (played) views.push(line); else count(played = line);
      asked.counted = true;
      if (asked !== current) return asked.abort();
      if (!views.length) element("written").replaceChildren(...played.flatMap(written));
      if (!views.length && element("wait").textContent) late();
      if (views.length === played.length) element("views").replaceChildren(...played.flatMap((one, place) => seen(one, played.length === 1, views[place])));
    }
  } catch (error) { if (asked === current && error.name !== "AbortError") element("error").textContent = error.message; }
  clearTimeout(slow);
  if (asked === current) wait("");
}

async function worst() {
  const asked = epsilon();
  try {
    const drawn = await json("api/worst", {epsilon: asked});
    if (asked === epsilon()) element("worst").replaceChildren(...odds(drawn));
  } catch (error) { element("error").textContent = error.message; }
}

function tableOf(headings, rows, name) {
  const table = made("table"), head = made("tr"), body = made("tbody"), wide = made("div", undefined, {class: "wide", role: "region", "aria-label": name, tabindex: 0});
  head.append(...headings.map(text => made("th", text, {scope: "col"})));
  for (const [first, ...cells] of rows) body.append(made("tr")), body.lastChild.append(made("th", first, {scope: "row"}), ...cells.map(text => made("td", text)));
  table.append(made("thead"), body);
  table.firstChild.append(head);
  wide.append(table);
  return wide;
}

async function showBudgets() {
  element("show-budgets").disabled = true;
  element("budgets").textContent = "This takes some seconds.";
  try {
    const found = await json("api/budgets", {});
    element("budgets").replaceChildren(tableOf(found.headings, found.rows, "What each budget means and keeps"), made("p", "Public sentences, and one rewrite of each:"),
      tableOf(found.texts, found.rewrites, "Public sentences and their rewrites"));
  } catch (error) { element("budgets").textContent = error.message; }
  element("show-budgets").disabled = false;
}

function after(milliseconds, action) {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(action, milliseconds); };
}

const change = after(120, () => { play(); worst(); });
element("epsilon").addEventListener("input", () => { showBudget(); change(); });
element("text").addEventListener("input", after(350, play));
element("text").addEventListener("keydown", event => { if (event.key === "Enter") event.preventDefault(); });
element("play").addEventListener("submit", event => event.preventDefault());
for (const box of document.querySelectorAll("[name=mechanism]")) box.addEventListener("change", play);
for (const run of document.querySelectorAll("details.run"))
  run.addEventListener("toggle", () => {
    for (const shown of run.querySelectorAll("[data-src]:not([src])"))
      shown.src = shown.dataset.src + (token ? `?token=${encodeURIComponent(token)}` : "");
  });
for (const link of document.querySelectorAll("a.how")) if (token) link.href += `?token=${encodeURIComponent(token)}`;
element("show-budgets").addEventListener("click", showBudgets);
showBudget();
dropping(epsilon);
requestAnimationFrame(() => setTimeout(change)); // the first paint has this machine to itself
