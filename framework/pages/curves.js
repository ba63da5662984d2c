
// The curves of a report. All of them share the pointer and the part of the run that is shown.

const HEIGHT = 230, LEAST = 0.01, DRAG = 6;
const view = { at: null, span: null, from: null, waiting: false };
const sets = JSON.parse(document.getElementById("numbers").textContent);
const end = Math.max(1, ...sets.map(({ x }) => x.at(-1)));
const figures = sets.flatMap(set => Object.entries(set.curves).map(([name, values]) => {
  const own = key => Object.hasOwn(set[key], name) ? set[key][name] : [];
  const [band, dots, levels] = ["bands", "dots", "levels"].map(own);
  const raw = set.x.map((x, place) => [x, values[place], set.counts[place], ...band.map(ends => ends[place])])
    .filter(([, y]) => y !== null);
  const box = make("figure", { class: "curve" });
  document.querySelector(`[data-set="${set.key}"]`).append(box);
  const series = [{ colour: "c0", raw, line: noisy(raw) ? smooth(raw) : raw, dots }];
  return { box, name, over: set.over, series, levels };
}));

/** Returns true for a line that goes up and down; the mean of one that only rises or falls would lag behind it. */
function noisy(points) {
  const signs = points.slice(1).map(([, y], place) => Math.sign(y - points[place][1])).filter(Boolean);
  return signs.filter((sign, place) => place && sign !== signs[place - 1]).length > points.length / 10;
}

const again = document.getElementById("whole");

function draw({ box, name, over, series, levels }) {
  if (!box.clientWidth) return; // in a part that is folded
  const span = view.span ?? [0, end], at = view.at;
  const drawn = chart(series, name, over, box.clientWidth, at,
    { span, from: view.from, height: HEIGHT, levels, zoomed: view.span !== null });
  morphChildren(box, [drawn, make("p", { class: "readout", "aria-live": "polite" }, readout(series[0], at, over))]);
}

function readout({ raw, line, dots }, at, over) {
  if (at === null || !raw.length) return "";
  const [x, y, , low, high] = nearest(raw, at), [, mean] = nearest(line, at);
  const dot = dots.length ? nearest(dots, at) : null;
  return [`${short(x)} ${over}: ${short(y)}`, low < high ? `${short(low)} to ${short(high)}` : "",
    mean === y ? "" : `running mean ${short(mean)}`,
    dot ? `evaluation ${short(dot[1])}` : ""].filter(Boolean).join(", ");
}

/** Draws what can be seen, or all, once before the browser shows the page again. */
function redraw(all = false) {
  view.all ||= all;
  if (view.waiting) return;
  view.waiting = true;
  requestAnimationFrame(() => {
    for (const one of figures) {
      const { top, bottom } = one.box.getBoundingClientRect();
      if (view.all || (bottom > 0 && top < innerHeight)) draw(one);
    }
    again.hidden = view.span === null;
    view.waiting = view.all = false;
  });
}

/** Shows the part of the run between two places; the whole run without them. */
function show(one, other) {
  const most = one === undefined ? null : [Math.max(0, Math.min(one, other)), Math.min(end, Math.max(one, other))];
  view.span = !most || most[1] - most[0] >= end ? null : most[1] - most[0] >= LEAST * end ? most : view.span;
  view.from = null;
  redraw(true);
}

function put(event) {
  const box = event.target.closest("figure.curve").getBoundingClientRect(), [first, last] = view.span ?? [0, end];
  const share = (event.clientX - box.left - ROOM.left) / (box.width - ROOM.left - ROOM.right);
  view.at = first + Math.min(1, Math.max(0, share)) * (last - first);
}

for (const { box } of figures) {
  box.addEventListener("pointerdown", event => {
    if (event.button) return;
    put(event);
    view.from = view.at;
    view.pixel = event.clientX;
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener("pointermove", event => {
    put(event);
    redraw();
  });
  box.addEventListener("pointerup", event => {
    if (view.from !== null && Math.abs(event.clientX - view.pixel) > DRAG) show(view.from, view.at);
    view.from = null;
    redraw();
  });
  for (const name of ["pointercancel", "pointerleave"]) {
    box.addEventListener(name, () => {
      view.at = view.from = null;
      redraw(true);
    });
  }
  box.addEventListener("dblclick", () => show());
  box.addEventListener("keydown", event => {
    const [first, last] = view.span ?? [0, end], size = last - first, at = view.at ?? first;
    const steps = { ArrowLeft: -0.01, ArrowRight: 0.01, PageUp: -0.1, PageDown: 0.1, Home: -1, End: 1 }[event.key];
    const scale = { "+": 0.5, "=": 0.5, "-": 2 }[event.key];
    if (event.key === "Escape") return show();
    if (scale) return show(at - scale * (at - first), at + scale * (last - at));
    if (steps === undefined) return undefined;
    event.preventDefault();
    view.at = Math.min(last, Math.max(first, at + steps * size));
    return redraw();
  });
}
again.addEventListener("click", () => show());
addEventListener("resize", () => redraw(true));
for (const part of document.querySelectorAll("details")) part.addEventListener("toggle", () => redraw(true));
redraw(true);
