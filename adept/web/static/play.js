// The page: asks this machine for releases, and draws what comes back. Whatever was typed is put on the page as text, never as markup.
import {bars, odds} from "./draw.js";
import {dropping} from "./files.js";

const element = id => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token");
const stops = element("epsilon").dataset.stops.split(" ").map(Number);
const epsilon = () => stops[Number(element("epsilon").value)];
let released = 0, spent = 0, latest = 0;

export async function ask(path, {method = "POST", body, headers = {}} = {}) {
  if (token) headers.Authorization = `Bearer ${token}`;
  let answer;
  try { answer = await fetch(path, {method, body, headers}); } catch { throw new Error("adept play has stopped: start it again"); }
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error ?? `status ${answer.status}`);
  return answer;
}

export const json = async (path, question) => (await ask(path, {body: JSON.stringify(question)})).json();

export function made(name, text, attributes = {}) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

// The bound of attacker_view.py, never rounded down.
function meaning(epsilon) {
  const others = Number(element("epsilon").dataset.people) - 1, bound = 1 / (1 + others * Math.exp(-epsilon));
  if (bound > .999) return "A reader may be certain that it was you.";
  const said = bound <= .5 ? `1 guess in ${Math.floor(1 / bound).toLocaleString("en")}` : bound <= .99 ? `${Math.ceil(100 * bound)} guesses in 100` : `${Math.ceil(1000 * bound)} guesses in 1,000`;
  return `A reader finds you with at most ${said}.`;
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
  const title = one.holds ? one.title : `${one.title}: it says epsilon ${one.claimed} and spends ${Number(one.epsilon).toPrecision(3)}`;
  return [made("h3", title, one.holds ? {} : {class: "broken"}), list];
}

function seen(one, alone) {
  const parts = [made("p", one.sentence, {class: one.holds ? "said" : "said broken"}), bars(one.view)];
  return alone ? parts : [made("h3", one.title), ...parts];
}

function count(played) {
  released += played.length;
  spent += played.reduce((sum, one) => sum + Number(one.epsilon), 0);
  const total = Number.isFinite(spent) ? Math.ceil(spent * 10) / 10 : "more than any budget";
  element("count").textContent = `${released} release${released === 1 ? "" : "s"} so far, which spend${released === 1 ? "s" : ""} ${Number.isFinite(spent) ? `a budget of ${total}` : total}${released === 1 ? "" : " together"}.`;
}

async function play() {
  const text = element("text").value.trim(), turn = ++latest;
  const mechanisms = [...document.querySelectorAll("[name=mechanism]:checked")].map(box => box.value);
  element("error").textContent = "";
  if (!text || !mechanisms.length) {
    element("error").textContent = text ? "Tick at least one way to blur." : "Type something that one might say.";
    return;
  }
  try {
    const played = await json("/api/play", {text, epsilon: epsilon(), mechanisms});
    count(played);
    if (turn !== latest) return;
    element("written").replaceChildren(...played.flatMap(written));
    element("views").replaceChildren(...played.flatMap(one => seen(one, played.length === 1)));
  } catch (error) { element("error").textContent = error.message; }
}

async function worst() {
  const asked = epsilon();
  try {
    const drawn = await json("/api/worst", {epsilon: asked});
    if (asked === epsilon()) element("worst").replaceChildren(...odds(drawn));
  } catch (error) { element("error").textContent = error.message; }
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
showBudget();
dropping(epsilon);
play();
worst();
