
// A chart of lines over training.

/** Returns a number for an axis: 20k, 1.5M. */
function brief(value) {
  const size = Math.abs(value);
  for (const [unit, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (size >= unit && size < 1e13) return `${Number((value / unit).toPrecision(4))}${letter}`;
  }
  return String(Number(value.toPrecision(4)));
}

/** Returns round values between two others, about as many as wanted. */
function ticks(low, high, wanted) {
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find(factor => factor * power >= rough) * power, found = [];
  for (let n = Math.ceil(low / step); n * step <= high && found.length < 20; n++) found.push(n * step);
  return found;
}

/** Returns the mean of each value and of those before it in a window of a twentieth of all. */
function smooth(points) {
  const window = Math.max(1, Math.round(points.length / 20));
  let total = 0;
  return points.map(([x, y], place) => {
    total += y - (place >= window ? points[place - window][1] : 0);
    return [x, total / Math.min(place + 1, window)];
  });
}

/** Returns the point that is nearest to x; they are in the order of x. */
function nearest(points, x) {
  let low = 0, high = points.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < x) low = middle; else high = middle;
  }
  return points.length && Math.abs(points[low][0] - x) <= Math.abs(points[high][0] - x) ? points[low] : points[high];
}

const ROOM = { left: 52, right: 12, top: 26, bottom: 36, height: 320 };

/** Returns the range of values on both axes. span: the part of the horizontal one that is shown; null: all of it. */
function range(series, span = null) {
  const points = series.flatMap(({ raw, dots }) => [...within(raw, span), ...within(dots, span)]);
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  const least = (values, start) => values.reduce((a, b) => Math.min(a, b), start);
  const most = (values, start) => values.reduce((a, b) => Math.max(a, b), start);
  const low = least(ys, points.length ? Infinity : 0), high = most(ys, points.length ? -Infinity : 1);
  const margin = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  const [first, right] = span ?? [0, most(xs, 0) || 1];
  return { first, right, low: low - margin, high: high + margin };
}

function within(points, span) {
  return span ? points.filter(([x]) => span[0] <= x && x <= span[1]) : points;
}

/** Returns a chart. series: colour, dashed, raw [[x, y]], line (smoothed), dots; at: x of the pointer, or null; span:
 *  the part of the axis that is shown, null for all; from: x at which a selection began, or null. */
function chart(series, what, over, width, at, { span = null, from = null, height = ROOM.height } = {}) {
  const { first, right, low, high } = range(series, span), { left, top, bottom } = ROOM;
  const room = width - left - ROOM.right, tall = height - top - bottom;
  const px = x => (left + room * (x - first) / (right - first)).toFixed(1);
  const py = y => (top + tall * (high - y) / (high - low)).toFixed(1);
  const path = (points, kind) => points.length
    ? make("path", { class: kind, d: `M${points.map(([x, y]) => `${px(x)} ${py(y)}`).join("L")}h.01` }) : null;
  const parts = ticks(low, high, height < ROOM.height ? 4 : 6).map(y => [
    make("line", { class: "rule", x1: left, x2: width - ROOM.right, y1: py(y), y2: py(y) }),
    make("text", { x: left - 8, y: Number(py(y)) + 4, "text-anchor": "end" }, brief(y)),
  ]);
  parts.push(ticks(first, right, room < 450 ? 4 : 8).map(x =>
    make("text", { x: px(x), y: height - 20, "text-anchor": "middle" }, brief(x))));
  parts.push(make("text", { class: "what", x: 0, y: 12 }, what));
  parts.push(make("text", { x: width - ROOM.right, y: height - 3, "text-anchor": "end" }, over));
  if (from !== null && at !== null) {
    const [begin, end] = [from, at].map(x => Number(px(x))).sort((one, other) => one - other);
    parts.push(make("rect", { class: "selected", x: begin, y: top, width: end - begin, height: tall }));
  }
  for (const { colour, dashed, ...points } of [...series].reverse()) {
    const [raw, line, dots] = [points.raw, points.line, points.dots].map(each => within(each, span));
    parts.push(make("g", { class: `${colour} ${dashed ? "dashed" : ""}` },
      series.length <= 3 ? path(raw, "raw") : null, path(line, ""),
      dots.map(([x, y]) => make("circle", { cx: px(x), cy: py(y), r: 3 })),
      at === null || !line.length ? null : here(nearest(line, at), px, py)));
  }
  if (at !== null) parts.push(make("line", { class: "cross", x1: px(at), x2: px(at), y1: top, y2: top + tall }));
  return make("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "img",
    "aria-label": `${what} over ${over}; the arrow keys read values` }, parts.flat(2));
}

function here([x, y], px, py) {
  return make("circle", { class: "here", cx: px(x), cy: py(y), r: 4 });
}
