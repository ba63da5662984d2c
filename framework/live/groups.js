
// A group of runs, or a tuning, while it runs: means with their intervals, trials, and the settings that matter.

const SIDE = 56, CROWN = 46, FOOT = 18, TALL = 330, LEAST_GAP = 110;

/** Returns the view of the group of the address. */
function groupShown() {
  const details = page.data.group, [job] = [...page.data.groups.values()].filter(({ id }) => id === details?.id);
  const back = make("a", { class: "button narrow", href: link([], { list: 1 }) }, tr("← All runs"));
  if (!job) return make("div", {}, back, make("p", { class: "quiet" }, tr("This group is not there, or not read yet.")));
  const runs = page.data.order.filter(run => run.group === job.name).sort(byName), ids = runs.map(run => run.id);
  const report = details.files.filter(file => file.name === "report.html");
  const parts = job.tuning ? tuningParts(details) : members(runs, details);
  return make("div", { "data-key": `group ${job.id}` }, back, make("h2", {}, job.name),
    make("p", { class: "about" }, make("span", { class: `state ${job.running ? "running" : ""}` },
      job.running ? tr("running") : tr("not running")), `  ${counted(runs)}`, tagsOf(job.tags)),
    make("div", { class: "buttons" }, report.map(opener),
      make("a", { class: "button", href: link(ids) }, tr("All {count} in one chart", { count: ids.length })),
      make("button", { "data-compare": ids.join() }, tr("Compare them")),
      job.running ? stopButton(job.id, job.tuning ? "tuning" : "group") : null),
    details.chart.charts.length ? [make("p", { class: "quiet" }, details.said), tools(details.chart.axes), chartBox()] : make("p", { class: "quiet" }, tr("Nothing to draw yet.")),
    ...parts.flat(2), notes(job.id, job.tags, details.note),
    folded("files", tr("Files ({count})", { count: details.files.length }), make("div", { class: "buttons" }, openers(details.files))));
}

/** Draws the curves of the group that is shown. */
function drawGroup() {
  const { charts: drawn = [], x, smoothing } = page.data.group?.chart ?? {};
  for (const { name, lines } of drawn) drawChart(name, placed(lines, x), smoothing);
}

function members(runs, { series }) {
  const named = Object.keys(series).length > 0;
  const heads = [tr("run"), ...(named ? [tr("experiment")] : []), tr("state"), tr("seed"), tr("score"), tr("steps"),
    tr("steps/s"), TIME_SPENT];
  const rows = runs.map(run => [{ "data-key": run.id }, [make("a", { href: link([run.id]) }, own(run)),
    ...(named ? [series[run.id] ?? ""] : []), state(run), run.seed === null ? null : String(run.seed), score(run) ?? null, run.step, run.speed, run.seconds]]);
  return [make("h3", {}, tr("Runs")), sortedTable("runs", heads, rows, tr("Runs of the group"))];
}

function tuningParts(details) {
  const heads = [tr("trial"), tr("state"), tr("score"), tr("best"), ...details.settings, tr("steps"), tr("last return"),
    TIME_SPENT];
  const rows = details.trials.slice(0, 200).map(trial => [{ "data-key": trial.name, "data-trial": trial.name, tabindex: 0 }, [
    trial.run ? make("a", { href: link([trial.run]) }, trial.name) : trial.name,
    make("span", { class: `state ${trial.state}` }, trial.state_text), trial.score, trial.best, ...trial.values, trial.step,
    trial.last_return, trial.seconds]]);
  return [
    make("h3", {}, tr("Trials ({count})", { count: details.trials.length })),
    sortedTable("trials", heads, rows, tr("Trials")),
    details.parallel.length ? [make("h3", {}, tr("Settings and scores")), make("p", { class: "quiet" }, details.meaning),
      make("div", { class: "scroll" }, parallel(details)),
      make("p", { class: "readout", id: "trial", "aria-live": "polite" }, about(details))] : null,
    importance(details)];
}

const about = ({ parallel: lines }) => lines.find(({ name }) => name === page.trial)?.about ?? "";

/** Returns parallel coordinates: each line crosses every axis at its value. */
function parallel({ axes, parallel: lines }) {
  const gap = Math.max(LEAST_GAP, (the("shown").clientWidth - 2 * SIDE) / Math.max(1, axes.length - 1));
  const width = Math.round(2 * SIDE + gap * (axes.length - 1)), y = place => CROWN + (TALL - CROWN - FOOT) * (1 - place);
  const x = number => (SIDE + gap * number).toFixed(1);
  const paths = [...lines].reverse().map(({ name, kind, color, places }) => {
    const points = places.map((place, number) => place === null ? null : `${x(number)} ${y(place).toFixed(1)}`);
    return make("path", { class: `${kind} ${name === page.trial ? "here" : ""}`, stroke: color, "data-trial": name,
      d: `M${points.filter(Boolean).join("L")}` });
  });
  const scales = axes.map(({ name, ticks }, number) => [
    make("line", { class: "axis", x1: x(number), x2: x(number), y1: y(1), y2: y(0) }),
    make("text", { class: "name", x: x(number), y: CROWN - 14, "text-anchor": "middle" }, cut(name, Math.floor(gap / 7))),
    ticks.map(([place, label]) => make("text", { class: "tick", x: Number(x(number)) + 5, y: y(place) + 4 }, label))]);
  return make("svg", { class: "parallel", viewBox: `0 0 ${width} ${TALL}`, width, height: TALL, role: "img",
    "aria-label": tr("Settings and scores of the trials; the table of trials has the same numbers") }, paths, scales.flat(3));
}

function importance({ importance: shares, scored, remark }) {
  const head = make("h3", {}, tr("Importance of the settings"));
  if (!shares.length) return remark ? [head, make("p", { class: "quiet" }, remark)] : null;
  const rows = shares.map(([name, share]) => make("tr", {}, make("td", {}, name),
    make("td", {}, make("svg", { class: "share", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      make("rect", { width: Math.max(0.5, 100 * share), height: 8 }))), make("td", { class: "n" }, `${Math.round(100 * share)} %`)));
  return [head, make("p", { class: "quiet" },
    tr("Share of each setting in being among the best quarter of {count} trials (PED-ANOVA).", { count: scored })),
  make("table", { class: "shares" }, make("tbody", {}, rows))];
}

/** Marks a trial in the figure; null marks none. */
function markTrial(name) {
  if (page.trial === name || !page.data?.group?.parallel) return;
  page.trial = name;
  for (const path of document.querySelectorAll("svg.parallel path")) path.classList.toggle("here", path.dataset.trial === name);
  the("trial").textContent = about(page.data.group);
}

for (const event of ["pointerover", "focusin"]) {
  the("shown").addEventListener(event, ({ target }) => markTrial(target.closest?.("[data-trial]")?.dataset.trial ?? null));
}
