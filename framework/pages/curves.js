
// The charts of a page: what all of them share, their controls, the pointer, and files to save.

const LEAST = 0.01, DRAG = 6, WIDEST = 50, MARGIN = 12;
const KEPT = ["smooth", "mean", "x", "log"];
const MEANS = new Map([["", tr("running mean")], ["exponential", tr("exponential mean")]]);
/** What all charts of the page share: `kept` survives a reload, the rest does not. */
const view = { kept: {}, axes: [], usual: 5, at: null, span: null, from: null, pixel: 0, pick: null, waiting: false,
  all: false, remember: () => {} };
const charts = new Map();

const smoothingShare = () => Math.min(WIDEST, Math.max(0, Number(view.kept.smooth ?? view.usual) || 0)) / 100;
const axisOfPage = () => view.axes.includes(view.kept.x) ? view.kept.x : view.axes[0];

/** Returns lines with the places of their points on all axes: each has the number of its places. */
function placed(lines, places) {
  return lines.map(line => ({ ...line, x: places[line.x], dots: line.dots && placed([line.dots], places)[0] }));
}

/** Draws lines into an element, again if it has a chart. what: name, lines, levels, and `tall` for a high chart. */
function plot(box, what) {
  const known = charts.get(box);
  if (known) Object.assign(known, what, { sign: "" });
  else charts.set(box, { levels: [], ...what, box, sign: "", ...frameOf(box) });
  redraw(true);
}

/** Fills an element with the parts of a chart: legend, drawing, menu, values. */
function frameOf(box) {
  const legend = make("div", { class: "legend" }), drawing = make("div", { class: "drawing" });
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const entries = ["PNG", "SVG", "CSV"].map(kind => make("button", { type: "button", "data-save": kind }, kind));
  const menu = make("details", { class: "save" }, make("summary", {}, tr("Save")), make("div", {}, entries));
  box.replaceChildren(legend, menu, drawing, readout);
  return { legend, drawing, menu, readout };
}

/** Returns the axis of a chart: that of the page, or its first one if it has no values there. */
function axisOf({ lines }) {
  const has = axis => lines.some(({ x, dots }) => x[axis]?.length || dots?.x[axis]?.length);
  return has(axisOfPage()) ? axisOfPage() : view.axes.find(has) ?? axisOfPage();
}

/** Returns where the axis of all charts ends, so that they can share the pointer. */
function endOf(axis) {
  let end = 0;
  for (const { lines } of charts.values()) {
    for (const { x, dots } of lines) {
      for (const values of [x[axis], dots?.x[axis]]) {
        for (const value of values ?? []) if (value > end && value < LARGEST) end = value;
      }
    }
  }
  return end || 1;
}

function drawCurve(figure, ends) {
  const { box, name, levels, drawing, menu, legend } = figure, width = drawing.clientWidth;
  if (!width) return; // in a part that is folded
  const axis = axisOf(figure), smoothing = { share: smoothingShare(), exponential: view.kept.mean === "exponential" };
  ends[axis] ??= endOf(axis);
  const span = axis === axisOfPage() ? view.span : null;
  const sign = JSON.stringify([axis, smoothing, span, ends[axis], width, view.kept.log]);
  if (sign !== figure.sign) {
    const lines = drawnLines(figure.lines, axis, smoothing), height = HEIGHT[figure.tall ? "tall" : "small"];
    const log = view.kept.log === "1", end = ends[axis];
    const drawn = chart({ name, lines, levels, axis, end, span, width, height, log });
    Object.assign(figure, { sign, drawn, shown: lines, axis });
    morphChildren(drawing, [drawn.svg]);
    figure.svg = drawing.firstChild;
    menu.querySelector("summary").setAttribute("aria-label", tr("Save the chart of {name}", { name }));
    const names = new Map(lines.map(({ series, color }) => [series, color]).filter(([series]) => series));
    legend.hidden = names.size < 2;
    morphChildren(legend, names.size < 2 ? [] : [...names].map(([series, color]) =>
      make("span", {}, swatch(color), series)));
  }
  markPointer(figure);
  box.classList.toggle("nothing", !figure.shown.length);
}

function swatch(color) {
  return make("svg", { class: `swatch c${color % COLORS}${color >= COLORS ? " dashed" : ""}`, viewBox: "0 0 26 10",
    "aria-hidden": "true" }, make("path", { d: "M0 5H26" }));
}

/** Draws the pointer, the selection and the values of a chart. */
function markPointer(figure) {
  const { drawn, shown, svg, readout, axis } = figure, { px, py, top, tall, scale: up } = drawn;
  const at = axis === axisOfPage() ? view.at : null, parts = [], span = [drawn.first, drawn.right];
  if (at !== null && view.from !== null) {
    const [begin, end] = [view.from, at].map(x => Number(px(x))).sort((one, other) => one - other);
    parts.push(make("rect", { class: "selected", x: begin, y: top, width: end - begin, height: tall }));
  }
  const beyond = 0.01 * (drawn.right - drawn.first), several = shown.length > 1;
  const read = at === null ? [] : shown.map(line => ({ line, points: within(line.mean, span) }))
    .filter(({ points }) => points.length && (!several
      || points[0][0] - beyond <= at && at <= points.at(-1)[0] + beyond))
    .map(({ line, points }) => ({ line, point: nearest(points, at) }));
  const picked = read[pickOf(figure, read)];
  if (at !== null) parts.push(make("line", { class: "cross", x1: px(at), x2: px(at), y1: top, y2: top + tall }));
  for (const { line, point: [x, y] } of shown.length > MOST_RAW && picked ? [picked] : read) {
    if (up.log && y <= 0) continue;
    const color = typeof line.color === "string" ? { fill: line.color } : {};
    parts.push(make("circle", { class: `here c${typeof line.color === "number" ? line.color % COLORS : 0}`, cx: px(x),
      cy: py(y), r: 4, ...color }));
  }
  if (picked && several) {
    const line = picked.line.mean.filter(([, y]) => !up.log || y > 0).filter(([x]) => span[0] <= x && x <= span[1]);
    parts.unshift(make("path", { class: "picked", d: `M${line.map(([x, y]) => `${px(x)} ${py(y)}`).join("L")}h.01` }));
  }
  svg.querySelector(".overlay").replaceChildren(...parts);
  const words = at === null || !read.length ? "" : valuesInWords(figure, at, read, picked);
  if (readout.textContent !== words) readout.textContent = words;
}

/** Returns which line is read where a chart has several: the one beside the pointer, or that of the arrow keys. */
function pickOf(figure, read) {
  if (!view.pick || !read.length) return 0;
  if (typeof view.pick.number === "number") return (view.pick.number % read.length + read.length) % read.length;
  if (view.pick.figure !== figure) return 0;
  const off = read.map(({ point: [, y] }) => Math.abs(Number(figure.drawn.py(y)) - view.pick.height));
  return off.indexOf(Math.min(...off));
}

/** Returns the values at a place in words. */
function valuesInWords({ drawn: { unit, over }, shown }, at, read, picked) {
  const place = x => unit === 1 ? `${short(Math.round(x))} ${over}` : `${short(x / unit)} ${over}`;
  if (shown.length > 1) {
    const named = read.filter(({ line }) => line.kind === "first" || read.length <= MOST_RAW);
    const listed = named.includes(picked) ? named : [...named, picked];
    const words = listed.map(({ line, point }) => `${line.name} ${short(point[1])}`);
    return `${place(at)}: ${words.slice(0, 8).join(",  ")}`;
  }
  const [{ line: { raw, mean, dots } }] = read, [x, y, , low, high] = nearest(raw, at), [, average] = nearest(mean, at);
  const dot = dots.length ? nearest(dots, at) : null;
  return [`${place(x)}: ${short(y)}`, low < high ? tr("{low} to {high}", { low: short(low), high: short(high) }) : "",
    average === y ? "" : `${MEANS.get(view.kept.mean ?? "")} ${short(average)}`,
    dot ? tr("evaluation {score}", { score: short(dot[1]) }) : ""].filter(Boolean).join(", ");
}

/** Draws the charts that can be seen, or all, once before the browser shows the page again. */
function redraw(all = false) {
  view.all ||= all;
  if (view.waiting) return;
  view.waiting = true;
  requestAnimationFrame(() => {
    const ends = {};
    for (const figure of charts.values()) {
      if (!figure.box.isConnected) {
        charts.delete(figure.box);
        continue;
      }
      const { top, bottom } = figure.box.getBoundingClientRect();
      if (view.all || (bottom > 0 && top < innerHeight)) drawCurve(figure, ends);
    }
    for (const button of document.querySelectorAll(".whole")) button.hidden = view.span === null;
    view.waiting = view.all = false;
  });
}

// ------------------------------------------------------------------------------------------------ the controls

/** Returns the controls of all charts. */
function controls() {
  const slider = make("input", { type: "range", min: 0, max: WIDEST, step: 1, "data-keep": "smooth" });
  const kind = make("select", { "data-keep": "mean", "aria-label": tr("Kind of mean") },
    [...MEANS].map(([value, text]) => make("option", { value }, text)));
  const axis = make("select", { "data-keep": "x" }, view.axes.map(name =>
    make("option", { value: name === view.axes[0] ? "" : name }, AXES.get(name) ?? name)));
  const log = make("input", { type: "checkbox", value: "1", "data-keep": "log" });
  return make("div", { class: "tools", role: "group", "aria-label": tr("All charts") },
    make("label", {}, `${tr("Smoothing")} `, slider, make("output", {})), kind, make("label", {}, `${tr("Over")} `, axis),
    make("label", {}, log, ` ${tr("Logarithmic")}`),
    make("button", { class: "whole", type: "button", hidden: true }, tr("Whole run")));
}

/** Makes all controls say what is set. */
function showChoices() {
  for (const input of document.querySelectorAll("[data-keep]")) {
    const kept = view.kept[input.dataset.keep] ?? "";
    if (input.type === "checkbox") input.checked = kept === "1";
    else input.value = input.type === "range" ? String(Math.round(100 * smoothingShare())) : input.dataset.keep === "x"
      && kept === view.axes[0] ? "" : kept;
    if (input.selectedIndex === -1) input.value = "";
    if (input.type === "range") {
      const percent = Math.round(100 * smoothingShare());
      input.setAttribute("aria-valuetext", percent ? tr("over {percent} % of the points", { percent }) : tr("none"));
      input.nextElementSibling.textContent = percent ? `${percent} %` : tr("none");
    }
  }
}

function keepChoice(name, value) {
  if (name === "x") view.span = view.at = null;
  if (value === "" || (name === "smooth" && Number(value) === view.usual)) delete view.kept[name];
  else view.kept[name] = value;
  view.remember(view.kept);
  showChoices();
  redraw(true);
}

addEventListener("input", ({ target }) => {
  if (!target.dataset?.keep) return;
  keepChoice(target.dataset.keep, target.type === "checkbox" ? (target.checked ? "1" : "") : target.value);
});

/** Takes over what was kept; only names and values that are known. */
function recall(entries) {
  view.kept = Object.fromEntries([...entries].filter(([name]) => KEPT.includes(name)).map(([name, value]) =>
    [name, String(value)]));
  showChoices();
  redraw(true);
}

// ------------------------------------------------------------------------------------------------- the pointer

const figureAt = target => charts.get(target.closest?.("figure.curve"));

/** Shows the part of the run between two places; the whole run without them. */
function zoom(one, other) {
  const end = endOf(axisOfPage());
  const most = one === undefined ? null : [Math.max(0, Math.min(one, other)), Math.min(end, Math.max(one, other))];
  view.span = !most || most[1] - most[0] >= end ? null : most[1] - most[0] >= LEAST * end ? most : view.span;
  view.from = null;
  redraw(true);
}

function putPointer(figure, event) {
  const box = figure.drawing.getBoundingClientRect(), { first, right } = figure.drawn;
  const part = (event.clientX - box.left - ROOM.left) / (box.width - ROOM.left - ROOM.right);
  view.at = first + Math.min(1, Math.max(0, part)) * (right - first);
  view.pick = { figure, height: event.clientY - box.top };
}

/** Returns the chart under the pointer, if it has the axis of the page. */
function pointedFigure(event) {
  const figure = event.target.closest?.(".drawing") ? figureAt(event.target) : undefined;
  return figure?.drawn && figure.axis === axisOfPage() ? figure : null;
}

addEventListener("pointerdown", event => {
  const figure = pointedFigure(event);
  if (!figure || event.button) return;
  putPointer(figure, event);
  Object.assign(view, { from: view.at, pixel: event.clientX });
  figure.drawing.setPointerCapture(event.pointerId);
});
addEventListener("pointermove", event => {
  const figure = pointedFigure(event);
  if (figure) putPointer(figure, event);
  else if (view.at === null || document.activeElement?.matches("svg.chart")) return;
  else view.at = view.from = null;
  redraw(!figure);
});
addEventListener("pointerup", event => {
  if (view.from !== null && Math.abs(event.clientX - view.pixel) > DRAG) zoom(view.from, view.at);
  view.from = null;
  redraw();
});
addEventListener("pointercancel", () => {
  view.at = view.from = null;
  redraw(true);
});
document.documentElement.addEventListener("pointerleave", () => {
  if (view.from === null && !document.activeElement?.matches("svg.chart")) view.at = null;
  redraw(true);
});
addEventListener("dblclick", event => pointedFigure(event) && zoom());
addEventListener("keydown", event => {
  const figure = event.target.matches?.("svg.chart") ? figureAt(event.target) : null;
  if (event.key === "Escape") for (const { menu } of charts.values()) menu.open = false;
  if (!figure?.drawn || figure.axis !== axisOfPage()) return undefined;
  const { first, right } = figure.drawn, size = right - first, at = view.at ?? first;
  const steps = { ArrowLeft: -0.01, ArrowRight: 0.01, PageUp: -0.1, PageDown: 0.1, Home: -1, End: 1 }[event.key];
  const scaled = { "+": 0.5, "=": 0.5, "-": 2 }[event.key], turn = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (event.key === "Escape") return zoom();
  if (scaled) return zoom(at - scaled * (at - first), at + scaled * (right - at));
  if (turn && figure.shown.length > 1) view.pick = { number: (view.pick?.number ?? (turn > 0 ? -1 : 0)) + turn };
  else if (steps === undefined) return undefined;
  event.preventDefault();
  view.at = Math.min(right, Math.max(first, at + (steps ?? 0) * size));
  return redraw();
});
addEventListener("focusout", ({ target }) => {
  if (!target.matches?.("svg.chart")) return;
  view.at = view.pick = null;
  redraw(true);
});
addEventListener("click", ({ target }) => {
  const figure = figureAt(target), kind = target.dataset?.save;
  if (target.closest?.(".whole")) zoom();
  if (figure && kind) saveChart(figure, kind);
  for (const { menu } of charts.values()) if (kind || !menu.contains(target)) menu.open = false;
});
addEventListener("resize", () => redraw(true));
addEventListener("toggle", () => redraw(true), true);
addEventListener("scroll", () => redraw(true), { passive: true });

// ------------------------------------------------------------------------------------------------ files to save

const LOOKS = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "opacity",
  "font-family", "font-size", "font-weight", "paint-order"];

/** Saves a chart as a picture or as a table. */
async function saveChart(figure, kind) {
  const file = `${document.title} ${figure.name}`.replaceAll(/[^\p{L}\p{N}.-]+/gu, "_").slice(0, 80);
  const contents = kind === "CSV" ? new Blob([csvOf(figure)], { type: "text/csv" })
    : kind === "SVG" ? new Blob([svgOf(figure).text], { type: "image/svg+xml" }) : await pngOf(figure);
  const link = make("a", { href: URL.createObjectURL(contents), download: `${file}.${kind.toLowerCase()}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Returns a chart as an SVG that needs no style sheet, with its legend below it. */
function svgOf({ svg, legend }) {
  const copy = svg.cloneNode(true), [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  copy.querySelector(".overlay").remove();
  const originals = [...svg.querySelectorAll(":not(.overlay, .overlay *)")], copies = [...copy.querySelectorAll("*")];
  for (const [place, element] of copies.entries()) {
    const look = getComputedStyle(originals[place]);
    for (const name of LOOKS) element.setAttribute(name, look.getPropertyValue(name));
    element.removeAttribute("class");
  }
  const font = { "font-family": getComputedStyle(svg).fontFamily, "font-size": 12 };
  const ink = getComputedStyle(document.body).color, names = legend.hidden ? [] : [...legend.children];
  for (const [row, entry] of names.entries()) {
    const y = height + 18 * row + 10, color = getComputedStyle(entry.querySelector("svg")).color;
    const dashes = entry.querySelector(".dashed") ? "6 5" : null;
    const look = { stroke: color, "stroke-width": 3, "stroke-dasharray": dashes };
    copy.append(make("line", { x1: 0, x2: 26, y1: y, y2: y, ...look }),
      make("text", { x: 34, y: y + 4, fill: ink, ...font }, entry.textContent));
  }
  const wide = width + 2 * MARGIN, high = height + 18 * names.length + 2 * MARGIN;
  const paper = getComputedStyle(document.body).backgroundColor;
  copy.prepend(make("rect", { x: -MARGIN, y: -MARGIN, width: wide, height: high, fill: paper }));
  for (const name of ["class", "tabindex", "role", "aria-label"]) copy.removeAttribute(name);
  const sizes = { xmlns: "http://www.w3.org/2000/svg", viewBox: `${-MARGIN} ${-MARGIN} ${wide} ${high}`,
    width: wide, height: high };
  for (const [name, value] of Object.entries(sizes)) copy.setAttribute(name, value);
  return { text: new XMLSerializer().serializeToString(copy), width: wide, height: high };
}

/** Returns a chart as a PNG of twice its size. */
async function pngOf(figure) {
  const { text, width, height } = svgOf(figure), image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = make("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
  return new Promise(done => { canvas.toBlob(done, "image/png"); });
}

/** Returns the numbers of a chart as CSV: a row for each point, over all axes that it has. The line of a column has its
 *  name, which the chart may have behind other words. */
function csvOf({ name: title, lines }) {
  const name = lines.length === 1 ? lines[0].name ?? title : title;
  const axes = view.axes.filter(axis => lines.some(({ x, dots }) => x[axis] || dots?.x[axis]));
  const rows = lines.flatMap(line => [
    ...[...line.y.keys()].map(place => [line.name ?? name, ...axes.map(axis => line.x[axis]?.[place]), line.y[place],
      line.low?.[place], line.high?.[place]]),
    ...(line.dots?.y ?? []).map((value, place) =>
      ["evaluation", ...axes.map(axis => line.dots.x[axis]?.[place]), value]),
  ]);
  const heads = ["line", ...axes, name, "lowest", "highest"];
  return [heads, ...rows].map(row => `${row.map(csvField).join(",")}\n`).join("");
}

/** Returns a field of a CSV. A text that a spreadsheet would take as a formula begins with an apostrophe. */
function csvField(value) {
  if (typeof value !== "string") return value ?? "";
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
