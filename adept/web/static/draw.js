// Charts as inline SVG: shapes and words, readable without colour.
const SVG = "http://www.w3.org/2000/svg";

function shape(name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

function picture(width, height, title) {
  const node = shape("svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title});
  node.append(shape("title", {}, title));
  return node;
}

const shorter = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;
export const chance = p => p > .9995 ? "certain" : p >= .095 ? `${Math.round(100 * p)} in 100` : p < 1e-6 ? "below 1 in a million" : `1 in ${Math.round(1 / p).toLocaleString("en")}`;
// A bound is never rounded down.
export const atMost = (p, one = "", many = "") => p > .999 ? "certain" : p > .99 ? `${Math.ceil(1000 * p)}${many} in 1,000`
  : p > .5 ? `${Math.ceil(100 * p)}${many} in 100` : `1${one} in ${Math.floor(1 / p).toLocaleString("en")}`;

// Beliefs on a logarithmic axis from 1 in ten thousand to certainty: yours first, then the likeliest others.
export function bars(view) {
  const narrow = innerWidth < 640, width = narrow ? 360 : 680, left = 4, right = width - 8, row = 44, top = 44;
  const lowest = 1 / (10 * view.people);
  const x = p => left + (right - left) * Math.log(Math.max(p, lowest) / lowest) / Math.log(1 / lowest);
  const rows = [["you", view.after], ...view.others];
  const bottom = top + row * rows.length, height = bottom + 40;
  const chart = picture(width, height, `The reader's belief. Before: ${chance(1 / view.people)} for everybody. At most for you: ${
    atMost(view.bound)}. After this release: ${chance(view.after)} for you; ${view.likelier} of the others are held likelier.`);
  const mark = (p, kind, y) => chart.append(shape("line", {x1: x(p), x2: x(p), y1: y, y2: bottom, class: kind}));
  for (let p = lowest; p < 1.5; p *= 10) {
    const many = Math.round(1 / p), name = many < 2 ? "certain" : `1 in ${narrow && many > 999 ? `${many / 1000}k` : many.toLocaleString("en")}`;
    chart.append(shape("line", {x1: x(p), x2: x(p), y1: bottom, y2: bottom + 5, class: "axis"}));
    chart.append(shape("text", {x: x(p), y: bottom + 20, "text-anchor": p > .5 ? "end" : p === lowest ? "start" : "middle", class: "quiet tick"}, name));
  }
  chart.append(shape("line", {x1: left, x2: right, y1: bottom, y2: bottom, class: "axis"}));
  mark(1 / view.people, "before", 20);
  rows.forEach(([, p], place) => chart.append(shape("rect", {x: left, y: top + row * place + 19, width: Math.max(1, x(p) - left), height: 12, class: `bar${place ? "" : " you"}`})));
  mark(view.bound, "bound", 20);
  if (view.claimed < view.bound) mark(view.claimed, "claimed", 38);
  rows.forEach(([name, p], place) => {
    const y = top + row * place + 13, own = place === 0;
    chart.append(shape("text", {x: left, y, class: own ? "you" : "quiet"}, `${chance(p)}: ${own ? "you" : shorter(name, narrow ? 34 : 72)}`));
  });
  chart.append(shape("text", {x: x(1 / view.people), y: 14, "text-anchor": "middle", class: "quiet"}, narrow ? "before" : `before: ${chance(1 / view.people)}`));
  const said = (p, y, kind, text) => chart.append(shape("text", {x: x(p) + (x(p) > width * .55 ? 4 : -4), y, "text-anchor": x(p) > width * .55 ? "end" : "start", class: kind}, text));
  const crowded = x(view.bound) - x(1 / view.people) < width * .3;
  said(view.bound, crowded ? 30 : 14, "", `at most: ${atMost(view.bound)}`);
  if (view.claimed < view.bound) said(view.claimed, 32, "wrong", `promised: ${atMost(view.claimed)}`);
  return chart;
}

// By how much one record's releases move the odds, whichever way: a dot each, piled up; those beyond the claim are rings.
export function odds({claimed, true: bound, spends, odds: drawn}) {
  const width = innerWidth < 640 ? 360 : 680, edge = 10, size = width < 400 ? 7 : 10;
  const told = drawn.map(Math.abs), largest = Math.max(2 * claimed, ...told) * 1.12;
  const x = value => edge + (width - 2 * edge) * value / largest;
  const piles = new Map();
  const places = told.map(value => {
    const bin = Math.round(x(value) / size), level = piles.get(bin) ?? 0;
    piles.set(bin, level + 1);
    return [bin * size, level, value > claimed];
  });
  const tallest = Math.max(...piles.values()), height = 46 + size * tallest + 30, floor = height - 30;
  const crossed = told.filter(value => value > claimed).length;
  const said = `${crossed} of 100 releases break the promise of epsilon ${claimed}.`;
  const chart = picture(width, height, said);
  chart.append(shape("line", {x1: 0, x2: width, y1: floor + 1, y2: floor + 1, class: "axis"}));
  for (const [at, level, out] of places)
    chart.append(shape("circle", {cx: at, cy: floor - size * (level + .5), r: size * .38, class: out ? "dot crossed" : "dot"}));
  chart.append(shape("line", {x1: x(claimed), x2: x(claimed), y1: 22, y2: floor, class: "claimed"}));
  chart.append(shape("text", {x: x(claimed) - 6, y: 18, "text-anchor": x(claimed) > width / 3 ? "end" : "start", class: "wrong"}, `promised: epsilon ${claimed}`));
  chart.append(shape("text", {x: 0, y: floor + 20, class: "quiet"}, "tells nothing"), shape("text", {x: width, y: floor + 20, "text-anchor": "end", class: "quiet"}, "gives it away"));
  const sentence = document.createElement("p");
  sentence.className = "said";
  sentence.textContent = `${said} Its true epsilon is ${spends}.`;
  return [sentence, chart];
}
