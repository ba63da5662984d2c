
// A chart of lines over training.

/** Returns a number for an axis: 20k, 1.5M. */
function brief(value) {
  const size = Math.abs(value);
  for (const [unit, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (size >= unit && size < 1e13) return `${Number((value / unit).toPrecision(4))}${letter}`;
  }
  return String(Number(value.toPrecision(4)));
}

/** Returns the distance of round values between two others, about as many as wanted. */
function spacing(low, high, wanted) {
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 2.5, 5, 10].find(factor => factor * power >= rough) * power;
}

/** Returns the multiples of a number from one value to another. */
function multiples(low, high, each) {
  const first = Math.ceil(low / each - 1e-9), count = Math.floor(high / each + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, Math.min(count, 20)) }, (_, n) => (first + n) * each);
}

/** Returns points [x, mean, number, lowest, highest] with one for those at the same x: rows that end together have no
 *  order. A point may lack what follows its mean. */
function together(points) {
  const found = [];
  for (const [x, y, count = 1, low = y, high = y] of points) {
    const last = found.at(-1);
    if (last?.[0] !== x) found.push([x, y, count, low, high]);
    else {
      const all = last[2] + count;
      found[found.length - 1] = [x, (last[1] * last[2] + y * count) / all, all, Math.min(last[3], low),
        Math.max(last[4], high)];
    }
  }
  return found;
}

/** Returns the mean of each point and of those before it in a window of a twentieth of all. */
function smooth(points) {
  const window = Math.max(1, Math.round(points.length / 20));
  let total = 0, all = 0;
  return points.map(([x, y, count = 1], place) => {
    const [, old, gone = 1] = place >= window ? points[place - window] : [0, 0, 0];
    total += y * count - old * gone;
    all += count - gone;
    return [x, total / all];
  });
}

/** Returns true if most points have a lowest and a highest value; few that happen to end together make no band. */
const banded = points => 2 * points.filter(([, , , low, high]) => low < high).length > points.length;

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

/** Returns the range of values on both axes; the vertical one ends at ticks, which are multiples of `each`. span: the
 *  part of the horizontal one that is shown; null: all of it. levels: values that are in it, too. */
function range(series, span = null, wanted = 6, levels = []) {
  const lines = series.flatMap(({ raw, dots }) => [within(raw, span), within(dots, span)]);
  const heights = points => points.flatMap(banded(points) ? ([, , , ...ends]) => ends : ([, y]) => [y]);
  const xs = lines.flat().map(([x]) => x), ys = [...lines.flatMap(heights), ...levels];
  const least = (values, start) => values.reduce((a, b) => Math.min(a, b), start);
  const most = (values, start) => values.reduce((a, b) => Math.max(a, b), start);
  let low = least(ys, ys.length ? Infinity : 0), high = most(ys, ys.length ? -Infinity : 1);
  if (low === high) [low, high] = [low - (Math.abs(low) * 0.1 || 1), high + (Math.abs(high) * 0.1 || 1)];
  const each = spacing(low, high, wanted), [first, right] = span ?? [0, most(xs, 0) || 1];
  return { first, right, low: Math.floor(low / each + 1e-9) * each, high: Math.ceil(high / each - 1e-9) * each, each };
}

function within(points, span) {
  return span ? points.filter(([x]) => span[0] <= x && x <= span[1]) : points;
}

/** Returns a chart. series: colour, dashed, raw (points as those of `together`), line (smoothed), dots; at: x of the
 *  pointer, or null; span: the part of the axis that is shown, null for all; from: x at which a selection began, or
 *  null; levels: names and values of dashed lines across; zoomed: true to leave out those that are beyond the rest. */
function chart(series, what, over, width, at, options = {}) {
  const { span = null, from = null, height = ROOM.height, levels = [], zoomed = false } = options;
  const { first, right, low, high, each } = range(series, span, height < ROOM.height ? 5 : 6,
    zoomed ? [] : levels.map(([, value]) => value)), { left, top, bottom } = ROOM;
  const room = width - left - ROOM.right, tall = height - top - bottom;
  const px = x => (left + room * (x - first) / (right - first)).toFixed(1);
  const py = y => (top + tall * (high - y) / (high - low)).toFixed(1);
  const path = (points, kind) => points.length
    ? make("path", { class: kind, d: `M${points.map(([x, y]) => `${px(x)} ${py(y)}`).join("L")}h.01` }) : null;
  const band = points => points.length ? make("path", { class: "band", d: `M${[...points.map(([x, , , , y]) => [x, y]),
    ...points.map(([x, , , y]) => [x, y]).reverse()].map(([x, y]) => `${px(x)} ${py(y)}`).join("L")}Z` }) : null;
  const parts = multiples(low, high, each).map(y => [
    make("line", { class: "rule", x1: left, x2: width - ROOM.right, y1: py(y), y2: py(y) }),
    make("text", { x: left - 8, y: Number(py(y)) + 4, "text-anchor": "end" }, brief(y)),
  ]);
  parts.push(multiples(first, right, spacing(first, right, room < 450 ? 4 : 8)).map(x =>
    make("text", { x: px(x), y: height - 20, "text-anchor": "middle" }, brief(x))));
  parts.push(make("text", { class: "what", x: 0, y: 12 }, what));
  parts.push(make("text", { x: width - ROOM.right, y: height - 3, "text-anchor": "end" }, over));
  if (from !== null && at !== null) {
    const [begin, end] = [from, at].map(x => Number(px(x))).sort((one, other) => one - other);
    parts.push(make("rect", { class: "selected", x: begin, y: top, width: end - begin, height: tall }));
  }
  parts.push(levels.filter(([, value]) => low <= value && value <= high).map(([name, value]) => [
    make("line", { class: "level", x1: left, x2: width - ROOM.right, y1: py(value), y2: py(value) }),
    make("text", { class: "level", x: width - ROOM.right, y: Number(py(value)) - 4, "text-anchor": "end" },
      `${name} ${short(value)}`)]));
  for (const { colour, dashed, ...points } of [...series].reverse()) {
    const [raw, line, dots] = [points.raw, points.line, points.dots].map(each => within(each, span));
    parts.push(make("g", { class: `${colour} ${dashed ? "dashed" : ""}` },
      series.length <= 3 ? (banded(raw) ? band(raw) : path(raw, "raw")) : null, path(line, ""),
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
