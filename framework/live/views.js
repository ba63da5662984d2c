
// The list of runs, and the runs that are shown, as elements.

const the = id => document.getElementById(id);

const MOST_SHOWN = 12, MOST_FILMS = 6, MOST_LISTED = 200;
const TIME_SPENT = tr("time"), USUAL_SMOOTHING = view.usual;
const STEPS = "environment steps", UPDATES = "updates", EPISODES = "episodes";

const page = { data: null, timer: 0, failures: 0, asked: 0, signs: new Map(), most: MOST_LISTED, films: {}, trial: null,
  unfolded: new Set(), sorts: new Map(), sought: "", settings: { columns: [], names: [], cells: {}, left: 0 } };

const STATES = new Map([["waiting", tr("waiting")], ["running", tr("running")], ["finished", tr("finished")],
  ["stopped", tr("stopped")], ["interrupted", tr("interrupted")], ["paused", tr("paused")], ["replaced", tr("replaced")],
  ["failed", tr("failed")], ["not", tr("not started")]]);

const titled = run => run.tested ? tr("Test of {algorithm} on {environment}", run)
  : tr("{algorithm} on {environment}", run);
const own = run => run.group ? run.name.slice(run.group.length + 1) : titled(run);
const state = run => make("span", { class: `state ${run.state.split(" ")[0]}` }, run.state_text);
const count = value => typeof value === "number" ? value.toLocaleString("en") : "–";
const score = run => run.running ? run.mean : run.score;
const age = run => Math.max(0, page.data.time - run.changed);
const scored = run => run.tested ? tr("score") : run.running ? tr("return") : tr("best");
const progress = run => run.running && run.share
  ? make("progress", { max: 1, value: run.share, "aria-label": tr("share of the planned run") }) : null;

function amount(run) {
  if (run.step) return tr("{count} steps", { count: count(run.step) });
  return run.update ? tr("{count} updates", { count: count(run.update) }) : "";
}

// ---------------------------------------------------------------------------------------------- the list

/** Returns a run of the list; only its key if it would be the same as the one that is there. */
function item(run, ids) {
  const shown = ids.includes(run.id), { changed, ...rest } = run, since = run.running ? "" : ago(age(run));
  const sign = JSON.stringify([rest, since, shown, column()]);
  if (page.signs.get(run.id) === sign) return make("li", { "data-key": run.id, "data-sign": sign });
  const details = [amount(run), run.running && run.speed ? `${short(run.speed)}/s` : "",
    typeof score(run) === "number" ? `${scored(run)} ${short(score(run))}` : "", since];
  const box = make("input", { type: "checkbox", checked: shown, "data-run": run.id,
    "aria-label": tr("{run} in the chart", { run: run.name }) });
  return make("li", { "data-key": run.id, "data-sign": sign, class: shown ? "run shown" : "run" }, box,
    make("a", { href: link([run.id]), "aria-current": shown ? "true" : null },
      make("span", { class: "line" }, make("span", { class: "title" }, own(run)), state(run)),
      make("span", { class: "small" }, run.group ? titled(run) : run.name),
      make("span", { class: "small" }, details.filter(Boolean).join(" · ")), tagsOf(run.tags), progress(run)));
}

/** Returns how many runs are in each state, in words. */
function counted(runs) {
  const states = runs.map(run => run.state.split(" ")[0]), kinds = [...new Set(states)];
  return kinds.map(kind => tr("{count} {state}", { count: states.filter(other => other === kind).length,
    state: STATES.get(kind) ?? kind })).join(tr(", "));
}

function group(name, runs, ids) {
  const { id, tuning, tags } = page.data.groups.get(name);
  return make("li", { "data-key": `group ${name}` }, make("details", { open: runs.some(run => run.running) },
    make("summary", {}, make("span", { class: "title" }, name), make("span", { class: "small" }, counted(runs)),
      tagsOf(tags)),
    make("div", { class: "buttons" },
      make("a", { class: "button", href: link([], { group: id }) }, tuning ? tr("The tuning") : tr("The group")),
      make("a", { class: "button", href: link(runs.map(run => run.id)) },
        tr("All {count} in one chart", { count: runs.length }))),
    make("ul", {}, runs.map(run => item(run, ids)))));
}

/** Returns the runs that have all words of the filter, newest first, those of a group together: [group, runs]. */
function filtered() {
  const words = the("filter").value.toLowerCase().split(/\s+/).filter(Boolean), items = new Map();
  for (const run of page.data.order) {
    const tags = [...run.tags, ...(page.data.groups.get(run.group)?.tags ?? [])].join(" ");
    const text = `${run.name} ${titled(run)} ${run.state} ${run.state_text} ${run.outcome} ${tags}`.toLowerCase();
    if (!words.every(word => text.includes(word))) continue;
    const key = run.group ? `group ${run.group}` : run.id;
    if (items.has(key)) items.get(key)[1].push(run);
    else items.set(key, [run.group, [run]]);
  }
  return [...items.values()];
}

function list(ids) {
  const signed = [...the("list").querySelectorAll("[data-sign]")];
  page.signs = new Map(signed.map(({ dataset }) => [dataset.key, dataset.sign]));
  const all = filtered(), some = all.slice(0, page.most);
  const more = all.length > some.length
    ? make("li", {}, make("button", { "data-more": true }, tr("Show more ({shown} of {count})",
      { shown: some.length, count: all.length }))) : null;
  if (all.length) {
    return make("ul", {}, some.map(([name, runs]) => name ? group(name, runs.sort(byName), ids) : item(runs[0], ids)), more);
  }
  return make("ul", {}, make("li", { class: "quiet" }, nothing()));
}

const nothing = () => page.data.order.length ? tr("No run has these words.")
  : page.data.left ? tr("The runs are being read.") : tr("No runs yet. They appear here as they start.");

// --------------------------------------------------------------------------------------- runs that are shown

function opener(file) {
  const first = file.name === "report.html";
  return make("a", { class: first ? "button first" : "button", href: file.url, target: "_blank",
    rel: "noopener noreferrer" }, first ? tr("Report") : file.name,
  first ? null : make("span", { class: "quiet" }, ` ${size(file.size)}`));
}

const byName = (one, other) => one.name.localeCompare(other.name, "en", { numeric: true });
const openers = files => files.toSorted(byName).map(opener);

function cards(run) {
  const cells = [[scored(run), score(run), short], [tr("steps"), run.step, count], [tr("steps/s"), run.speed, short],
    [tr("episodes"), run.episode, count], [tr("updates"), run.update, count], [tr("time"), run.seconds, clock],
    [tr("left, about"), run.running ? run.left : null, clock]].filter(([, value]) => typeof value === "number");
  return make("dl", { class: "facts" }, cells.map(([name, value, text], place) =>
    make("div", { class: place ? null : "first" }, make("dt", {}, name), make("dd", {}, text(value)))));
}

/** Returns the buttons that stop a run, or the job that drives it. */
function stopping(run) {
  if (!run.running) return null;
  const job = page.data.groups.get(run.group);
  return job?.running ? stopButton(job.id, job.tuning ? "tuning" : "group") : stopButton(run.id, "run");
}

function one(run, details) {
  const outcome = run.running || run.state_text === run.outcome ? "" : run.outcome;
  const report = details.files.filter(file => file.name === "report.html"), job = page.data.groups.get(run.group);
  return [make("h2", {}, titled(run)),
    make("p", { class: "about quiet" }, [run.name, details.started].filter(Boolean).join("  ·  ")),
    make("p", { class: "about" }, state(run), outcome ? `  ${outcome}` : "", tagsOf(run.tags)), progress(run),
    make("div", { class: "buttons" }, report.map(opener),
      job ? make("a", { class: "button", href: link([], { group: job.id }) }, job.tuning ? tr("The tuning") : tr("The group")) : null,
      stopping(run)), cards(run)];
}

/** Returns a table that is sorted by the column that was chosen, and as it is without one. rows: attributes and cells of
 *  each: numbers, texts, elements, or null. */
function sortedTable(key, heads, rows, label) {
  const [by, way] = page.sorts.get(key) ?? [], number = cell => typeof cell === "number" || cell === null;
  const numbers = heads.map((_, place) => rows.some(([, cells]) => typeof cells[place] === "number")
    && rows.every(([, cells]) => number(cells[place])));
  const text = (value, place) => typeof value !== "number" ? value ?? "" : heads[place] === TIME_SPENT ? clock(value) : short(value);
  const value = cell => cell instanceof Element ? cell.textContent : cell;
  const sorted = by === undefined ? rows : rows.toSorted(([, one], [, other]) => inOrder(value(one[by]), value(other[by]), way));
  const head = (name, place) => make("th", { class: numbers[place] ? "n" : null, scope: "col",
    "aria-sort": place === by ? (way > 0 ? "ascending" : "descending") : null },
  name ? make("button", { class: "sort", "data-table": key, "data-by": place, "data-first": numbers[place] ? -1 : 1 }, name) : "");
  return make("div", { class: "scroll" }, make("table", { class: `several ${key}`, "aria-label": label },
    make("thead", {}, make("tr", {}, heads.map(head))),
    make("tbody", {}, sorted.map(([attributes, cells]) => make("tr", attributes, cells.map((cell, place) =>
      make("td", { class: numbers[place] ? "n" : null }, text(cell, place))))))));
}

/** Sorts a table by one of its columns; the other way if it is sorted by it. */
function sortTable({ table, by, first }) {
  const [before, way] = page.sorts.get(table) ?? [], place = Number(by);
  page.sorts.set(table, [place, before === place ? -way : Number(first)]);
  drawShown();
}

function several(runs) {
  const heads = ["", tr("run"), tr("state"), tr("steps"), tr("steps/s"), tr("return"), ""];
  const rows = runs.map((run, place) => [{ "data-key": run.id }, [swatch(place),
    make("a", { href: link([run.id]) }, titled(run), make("span", { class: "small" }, run.name)), state(run),
    run.step ?? null, run.speed ?? null, score(run) ?? null,
    make("a", { class: "button", "aria-label": tr("Take {run} out of the chart", { run: run.name }),
      href: link(runs.filter(other => other !== run).map(other => other.id)) }, "×")]]);
  return sortedTable("shown", heads, rows, tr("Runs in the chart"));
}

/** Returns what a clock shows at the points of a line: in proportion between its ticks, null after the last one. */
function shownBy(ticks, points) {
  const base = ticks.some(([step]) => step > 0) ? 0 : 1, all = [[0, 0, 0], ...ticks];
  let place = 0;
  return points.map(point => {
    while (place < all.length - 1 && all[place + 1][base] <= point[base]) place++;
    const [one, other] = [all[place], all[place + 1]], past = point[base] - one[base];
    if (!other) return past > 0 ? null : one[2];
    return one[2] + (other[2] - one[2]) * past / (other[base] - one[base]);
  });
}

/** Returns a line of a chart. points: step, update, mean, and of several at the same step their number and ends.
 * clocks: further axes, and what they show at steps and updates. */
function lineOf(points, clocks = {}) {
  const ends = points.some(point => point.length > 3);
  const further = Object.entries(clocks).filter(([, ticks]) => ticks.length);
  return { x: { [STEPS]: points.map(([step]) => step), [UPDATES]: points.map(([, update]) => update),
    ...Object.fromEntries(further.map(([axis, ticks]) => [axis, shownBy(ticks, points)])),
    counts: points.map(([, , , count = 1]) => count) }, y: points.map(([, , value]) => value),
  ...(ends ? { low: points.map(([, , value, , low = value]) => low), high: points.map(([, , value, , , high = value]) => high) }
    : {}) };
}

/** Draws lines into the chart that is shown. smoothing: percent of their points, until the reader moves the slider. */
function drawChart(name, lines, smoothing = USUAL_SMOOTHING) {
  const box = the("shown").querySelector("figure.curve");
  if (!box) return;
  view.usual = smoothing;
  plot(box, { name, tall: true, lines });
  showChoices();
}

/** Returns the axes that the curves of runs have, the main one first: updates if one learned before it collected. */
function axesOf(all) {
  const learned = ([step, update]) => step === 0 && update > 0;
  const updates = all.some(({ line, evaluations }) => [...line, ...evaluations].some(learned));
  const has = axis => all.some(({ clocks }) => clocks[axis]?.length);
  return [...(updates ? [UPDATES, STEPS] : [STEPS, UPDATES]), ...[EPISODES, TIME].filter(has)];
}

/** Returns the name of the chart of a column, in words if the page is not English. */
const titleOf = (all, name) => all.map(({ titles }) => titles[name]).find(Boolean) ?? name;

/** Draws the curves of runs. */
function drawRuns(runs) {
  const all = runs.map(run => page.data.shown[run.id]);
  drawChart(titleOf(all, column()), all.map(({ line, evaluations, clocks }, place) => ({
    name: runs.length > 1 ? own(runs[place]) : column(), color: place, ...lineOf(line, clocks),
    dots: evaluations.length ? lineOf(evaluations, clocks) : undefined })));
}

const chartBox = () => make("figure", { class: "curve", "data-key": "chart", "data-sign": "chart" });

function figure(runs) {
  const all = runs.map(run => page.data.shown[run.id]), names = new Set(all.flatMap(({ columns }) => columns));
  const options = [...names.add(column())].map(name =>
    make("option", { value: name, selected: name === column() }, titleOf(all, name)));
  const what = make("select", { id: "column", "aria-label": tr("What is drawn") }, options);
  const head = make("div", { class: "head" }, make("label", {}, `${tr("Chart of")} `, what),
    all.some(({ evaluations }) => evaluations.length) ? make("span", { class: "quiet" }, tr("○ evaluation")) : null);
  if (!all.some(({ line, evaluations }) => line.length + evaluations.length)) {
    const none = runs.every(run => run.tested) ? tr("A test has no curve.") : tr("Nothing to draw yet.");
    return [names.size > 1 ? head : null, make("p", { class: "quiet" }, none)];
  }
  return [head, tools(axesOf(all)), chartBox()];
}

/** Returns the controls of the chart, which stay as they are set, for these axes. */
function tools(axes) {
  view.axes = axes;
  const made = controls();
  made.dataset.key = "tools";
  made.dataset.sign = axes.join();
  return made;
}

function films(files) {
  const found = files.filter(isFilm);
  const shown = found.slice(0, MOST_FILMS).map(file => make("figure", { "data-key": file.url },
    file.kind === "image/gif" ? make("img", { src: file.url, alt: file.name, loading: "lazy" })
    : make("video", { src: file.url, controls: true, preload: "metadata", "aria-label": file.name }),
  make("figcaption", { class: "small" }, file.name)));
  const title = found.length > MOST_FILMS
    ? tr("Videos (the newest {shown} of {count})", { shown: MOST_FILMS, count: found.length })
    : tr("Videos ({count})", { count: found.length });
  return found.length ? folded("videos", title, make("div", { class: "films" }, shown)) : null;
}

const folded = (key, title, ...content) => make("details", { "data-key": key }, make("summary", {}, title), content);

function notes(id, tags, note) {
  const title = tags.length + note.length ? tr("Tags and note") : tr("Tags and note (none)");
  return folded("notes", title, notesForm(id, tags, note));
}

function more(run, details) {
  const files = details.files.filter(file => file.name !== "report.html");
  const text = (key, title, lines) => lines.length
    ? folded(key, title, make("pre", { tabindex: 0, "aria-label": title }, lines.join("\n"))) : null;
  return [notes(run.id, run.tags, details.note), films(details.files), text("log", tr("Log, its last lines"), details.log),
    text("errors", tr("Errors"), details.errors),
    files.length ? folded("files", tr("Files ({count})", { count: files.length }), make("div", { class: "buttons" }, openers(files)))
      : null];
}

/** Returns the runs of which the page knows the curves. */
function read(ids) {
  return ids.map(id => page.data.runs.get(id)).filter(run => run && page.data.shown[run.id]);
}

function shown(ids) {
  const runs = read(ids);
  const back = make("a", { class: "button narrow", href: link(ids, { list: 1 }) }, tr("← All runs"));
  const quiet = text => make("p", { class: "quiet" }, text);
  if (!runs.length) {
    const missing = ids.length && page.asked ? quiet(tr("This run is not there, or not read yet.")) : null;
    return make("div", {}, chosen().length ? back : null, missing);
  }
  if (runs.length === 1) {
    const details = page.data.shown[runs[0].id];
    return make("div", { "data-key": runs[0].id }, back, ...one(runs[0], details), figure(runs), more(runs[0], details));
  }
  const cut = chosen().length > MOST_SHOWN
    ? quiet(tr("A chart has at most {most} runs; these are the first of {count}.",
      { most: MOST_SHOWN, count: chosen().length })) : null;
  const beside = filmsInStep(runs, page.films);
  return make("div", { "data-key": "several" }, back, make("h2", {}, tr("{count} runs in one chart", { count: runs.length })), cut,
    make("div", { class: "buttons" }, make("button", { "data-compare": chosen().join() }, tr("Compare them"))),
    figure(runs), several(runs),
    beside && make("details", { "data-key": "instep", open: wish().has("films") }, make("summary", {}, tr("Videos, side by side")),
      beside));
}
