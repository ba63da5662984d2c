
// Scales, smoothing, and the drawing of one chart. Nothing here has a state.

const COLORS = 6, MOST_RAW = 6, MANY = 40, LARGEST = 1e100;
const ROOM = { left: 52, right: 12, top: 32, bottom: 36 }, HEIGHT = { small: 230, tall: 320 };
const TIME = "seconds";
const UNITS = [[7200, 3600, tr("hours of training")], [120, 60, tr("minutes of training")],
  [0, 1, tr("seconds of training")]];
const AXES = new Map([["environment steps", tr("environment steps")], ["updates", tr("updates")],
  ["episodes", tr("episodes")], [TIME, tr("training time")]]);

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

/** Returns the vertical scale of values from low to high: it ends at ticks. share: height of a value, from 0 to 1. */
function scale(low, high, wanted) {
  if (low === high) [low, high] = [low - (Math.abs(low) * 0.1 || 1), high + (Math.abs(high) * 0.1 || 1)];
  const each = spacing(low, high, wanted);
  const [least, most] = [Math.floor(low / each + 1e-9) * each, Math.ceil(high / each - 1e-9) * each];
  return { low: least, high: most, ticks: multiples(least, most, each), log: false,
    share: value => (value - least) / (most - least) };
}

/** Returns the logarithmic scale of positive values: it ends at 1, 2 or 5 times a power of ten. */
function logScale(low, high, wanted) {
  const steps = [1, 2, 5, 10], power = value => 10 ** Math.floor(Math.log10(value) + 1e-9);
  const least = power(low) * steps.findLast(step => step * power(low) <= low * (1 + 1e-9));
  let most = power(high) * steps.find(step => step * power(high) >= high * (1 - 1e-9));
  if (most <= least) most = 10 * least;
  const decades = Math.log10(most / least), every = Math.ceil(decades / wanted), ticks = [];
  for (let n = Math.floor(Math.log10(least) + 1e-9); n <= Math.ceil(Math.log10(most)); n += every) {
    for (const step of 3 * decades <= wanted ? [1, 2, 5] : [1]) ticks.push(step * 10 ** n);
  }
  return { low: least, high: most, log: true, share: value => Math.log10(value / least) / decades,
    ticks: ticks.filter(value => least * (1 - 1e-9) <= value && value <= most * (1 + 1e-9)) };
}

/** Returns points [x, mean, number, lowest, highest] with one for those at the same x: rows that end together have no
 *  order. A point may lack what follows its mean. */
function together(points) {
  const merged = [];
  for (const [x, y, count = 1, low = y, high = y] of points) {
    const last = merged.at(-1);
    if (last?.[0] !== x) merged.push([x, y, count, low, high]);
    else {
      const all = last[2] + count;
      merged[merged.length - 1] = [x, (last[1] * last[2] + y * count) / all, all, Math.min(last[3], low),
        Math.max(last[4], high)];
    }
  }
  return merged;
}

/** Returns the points with a mean of the values up to each, weighted by their numbers. window: number of points; of the
 *  exponential mean, a point has (window - 1) / (window + 1) times the weight of the next one. */
function smooth(points, window, exponential = false) {
  if (window <= 1) return points;
  const keep = exponential ? (window - 1) / (window + 1) : 1, sums = [0, 0, 0, 0];
  return points.map(([x, y, count = 1, low = y, high = y], place) => {
    const added = [y * count, low * count, high * count, count];
    const [, old, number = 1, least = old, most = old] = !exponential && place >= window ? points[place - window]
      : [0, 0, 0, 0, 0];
    const gone = [old * number, least * number, most * number, number];
    for (const part of sums.keys()) sums[part] = sums[part] * keep + added[part] - gone[part];
    const [total, lower, upper, all] = sums;
    return [x, total / all, count, lower / all, upper / all];
  });
}

/** Returns true for a line that goes up and down; the mean of one that only rises or falls would lag behind it. */
function noisy(points) {
  const signs = points.slice(1).map(([, y], place) => Math.sign(y - points[place][1])).filter(Boolean);
  return signs.filter((sign, place) => place && sign !== signs[place - 1]).length > points.length / 10;
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

const within = (points, span) => span ? points.filter(([x]) => span[0] <= x && x <= span[1]) : points;

/** Returns the points of a line over an axis; none if it has no values there. line: `x` has an array for each axis, and
 *  numbers of rows under `counts`; `y`, `low` and `high` belong to it. */
function pointsOf({ x, y, low, high }, axis) {
  const points = [];
  for (const [place, value] of (x[axis] ?? []).entries()) {
    const mean = y[place];
    if (typeof value !== "number" || !(Math.abs(mean) < LARGEST) || mean === null) continue;
    points.push(low ? [value, mean, x.counts?.[place] ?? 1, low[place], high[place]]
      : [value, mean, x.counts?.[place] ?? 1]);
  }
  return together(points.sort(([one], [other]) => one - other));
}

/** Returns a unit of time for an axis of so many seconds, with its name; 1 and the name of every other axis. */
function unitOf(axis, most) {
  const [, unit, name] = axis === TIME ? UNITS.find(([least]) => most >= least) : [0, 1, AXES.get(axis) ?? axis];
  return [unit, name];
}

/** Returns the lines of a chart as they are drawn over an axis. smoothing: share of the points of a line, and whether
 *  its mean is exponential. */
function drawnLines(lines, axis, { share, exponential }) {
  return lines.map(line => {
    const raw = pointsOf(line, axis), window = Math.max(1, Math.round(raw.length * share));
    const mean = noisy(raw) ? smooth(raw, window, exponential) : raw;
    return { ...line, raw, mean, smoothed: mean !== raw, dots: line.dots ? pointsOf(line.dots, axis) : [] };
  }).filter(({ raw, dots }) => raw.length + dots.length);
}

/** Returns a chart as an element, and where its values are in it: { svg, scale, px, py, first, right, unit, over }.
 *  lines: those of `drawnLines`, the most important first. span: the part of the axis that is shown, null for all;
 *  end: its whole length. levels: names and values of lines across, which are left out of the scale if zoomed. */
function chart({ name, lines, levels, axis, end, span, width, height, log }) {
  const visible = lines.map(line => ({ ...line, raw: within(line.raw, span), mean: within(line.mean, span),
    dots: within(line.dots, span) }));
  const heights = visible.flatMap(({ raw, mean, dots, kind }) => [
    ...(lines.length > MOST_RAW && !(banded(raw) && kind !== "first") ? mean : raw)
      .flatMap(([, y, , low = y, high = y]) => banded(raw) ? [low, high] : [y]), ...dots.map(([, y]) => y)]);
  const values = [...heights, ...(span ? [] : levels.map(([, value]) => value))];
  const positive = values.filter(value => value > 0), many = lines.length >= MANY;
  const logarithmic = log && positive.length > 0, shown = logarithmic ? positive : values;
  const least = shown.reduce((a, b) => Math.min(a, b), Infinity);
  const most = shown.reduce((a, b) => Math.max(a, b), -Infinity);
  const up = (logarithmic ? logScale : scale)(...(shown.length ? [least, most] : [0, 1]), height < 300 ? 5 : 6);
  const [first, right] = span ?? [0, end], [unit, over] = unitOf(axis, right);
  const { left, top, bottom } = ROOM, room = width - left - ROOM.right, tall = height - top - bottom;
  const px = x => (left + room * (x - first) / (right - first || 1)).toFixed(1);
  const py = y => (top + tall * (1 - Math.max(logarithmic && y <= 0 ? 0 : up.share(y), 0))).toFixed(1);
  const seen = points => logarithmic ? points.filter(([, y]) => y > 0) : points;
  const path = (points, attributes) => seen(points).length ? make("path", { ...attributes,
    d: `M${seen(points).map(([x, y]) => `${px(x)} ${py(y)}`).join("L")}h.01` }) : null;
  const band = points => points.length ? make("path", { class: "band", d: `M${[...points.map(([x, , , , y]) => [x, y]),
    ...points.map(([x, , , y]) => [x, y]).reverse()].map(([x, y]) => `${px(x)} ${py(y)}`).join("L")}Z` }) : null;
  const points = (places, kind, r) => seen(places).map(([x, y]) =>
    make("circle", { class: kind, cx: px(x), cy: py(y), r }));
  const parts = up.ticks.map(y => [
    make("line", { class: "rule", x1: left, x2: width - ROOM.right, y1: py(y), y2: py(y) }),
    make("text", { x: left - 8, y: Number(py(y)) + 4, "text-anchor": "end" }, brief(y)),
  ]);
  const each = spacing(first / unit, right / unit || 1, room < 450 ? 4 : 8);
  parts.push(multiples(first / unit, right / unit, each).map(x =>
    make("text", { x: px(x * unit), y: height - 20, "text-anchor": "middle" }, brief(x))));
  parts.push(make("text", { class: "what", x: 0, y: 12 }, cut(name, Math.max(8, Math.floor((width - 90) / 7)))));
  parts.push(make("text", { class: "over", x: width - ROOM.right, y: height - 3, "text-anchor": "end" },
    log && !logarithmic ? tr("{axis}; no logarithm: no value above 0", { axis: over }) : over));
  const marks = levels.filter(([, value]) => up.low <= value && value <= up.high);
  parts.push(marks.map(([, value]) =>
    make("line", { class: "level", x1: left, x2: width - ROOM.right, y1: py(value), y2: py(value) })));
  for (const { color, kind = "", raw, mean, smoothed, dots } of [...visible].reverse()) {
    const hue = typeof color === "number" ? `c${color % COLORS}${color >= COLORS ? " dashed" : ""}` : "";
    const behind = lines.length <= MOST_RAW && !(kind === "first" && banded(raw));
    const own = typeof color === "string" ? color : null, dot = lines.length === 1 ? "dot" : null;
    parts.push(make("g", { class: `${hue} ${kind} ${many ? "many" : ""}`, color: own },
    banded(raw) ? kind === "first" ? band(mean) : behind ? band(raw) : null
      : behind && smoothed ? path(raw, { class: "raw" }) : null,
    path(mean, {}), mean.length === 1 ? points(mean, "lone", 3.5) : null, points(dots, dot, 3)));
  }
  parts.push(marks.map(([level, value]) =>  // above the lines, which would strike them through
    make("text", { class: "level", x: width - ROOM.right, y: Number(py(value)) - 4, "text-anchor": "end" },
      `${cut(level, 40)} ${short(value)}`)));
  const svg = make("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "img",
    "aria-label": tr("{name} over {axis}; the arrow keys read values", { name, axis: over }) },
  parts.flat(2), make("svg", { class: "overlay" }));
  return { svg, scale: up, px, py, first, right, unit, over, top, tall, room };
}

/** Returns a text that is no longer than `most` letters; a Chinese one is as wide as two others. */
function cut(text, most) {
  const letters = [...text];
  let room = most;
  const beyond = letters.findIndex(letter => (room -= letter > "\u2e80" ? 2 : 1) < 0);
  return beyond < 0 ? text : `${letters.slice(0, Math.max(0, beyond - 1)).join("")}…`;
}
