
// The overview: all runs in a table whose columns are chosen. Runs of a group are folded under it.

const KEPT_COLUMNS = "joystick.overview", MOST_COLUMNS = 30, MOST_TICKED = 200, NAME = "name";
const numbered = (head, value, text = short) => ({ head, value, text, number: true });
const worded = (head, value, text = value) => ({ head, value, text, number: false });
const COLUMNS = new Map(Object.entries({
  name: worded(tr("run"), run => run.name),
  state: worded(tr("state"), run => run.state, state),
  tags: worded(tr("tags"), run => run.tags.join(", "), run => tagsOf(run.tags) ?? ""),
  algorithm: worded(tr("algorithm"), run => run.algorithm),
  environment: worded(tr("environment"), run => run.environment),
  score: numbered(tr("score"), score),
  step: numbered(tr("steps"), run => run.step, count),
  speed: numbered(tr("steps/s"), run => run.speed),
  seconds: numbered(tr("time"), run => run.seconds, clock),
  changed: numbered(tr("changed"), run => run.changed, value => ago(Math.max(0, page.data.time - value))),
  seed: numbered(tr("seed"), run => run.seed, String),
  episode: numbered(tr("episodes"), run => run.episode, count),
  update: numbered(tr("updates"), run => run.update, count),
  started: worded(tr("started"), run => run.started),
  outcome: worded(tr("outcome"), run => run.outcome),
}));
const USUAL = ["state", "tags", "algorithm", "environment", "score", "step", "speed", "seconds", "changed"];
const chosenColumns = { columns: USUAL, sort: ["changed", -1], ...keptColumns() };

function keptColumns() {
  try {
    const { columns, sort: [by, way] } = JSON.parse(localStorage.getItem(KEPT_COLUMNS));
    const texts = columns.filter(name => typeof name === "string").slice(0, MOST_COLUMNS);
    return { columns: texts, sort: [String(by), way === 1 ? 1 : -1] };
  } catch { // nothing is kept, or something else
    return {};
  }
}

function keepColumns() {
  try {
    localStorage.setItem(KEPT_COLUMNS, JSON.stringify(chosenColumns));
  } catch { /* a browser that keeps nothing */ }
}

const settingsWanted = () => [...new Set([...chosenColumns.columns, chosenColumns.sort[0]])].filter(name => !COLUMNS.has(name));

/** Returns a column of the table by its name: one of ours, or a setting. */
function columnOf(name) {
  if (COLUMNS.has(name)) return COLUMNS.get(name);
  const place = page.settings.columns.indexOf(name), value = run => page.settings.cells[run.id]?.[place] ?? null;
  return { head: name.replace(/^(algo|env|general)_cfg\./, ""), value, number: false, setting: true,
    text: cell => typeof cell === "number" ? short(cell) : cell ?? "" };
}

/** Returns the value of several runs together: the highest number, or the text that all of them have. */
function commonValue(column, runs) {
  const values = runs.map(column.value).filter(value => value !== null && value !== undefined && value !== "");
  if (!values.length) return null;
  if (column.number) return values.reduce((most, value) => Math.max(most, value));
  return values.every(value => value === values[0]) ? values[0] : null;
}

function valueOf(column, [name, runs]) {
  return name ? commonValue(column, runs) : column.value(runs[0]);
}

/** Compares two values; those that are missing come last either way. */
function inOrder(one, other, way) {
  const absent = value => value === null || value === undefined || value === "";
  if (absent(one) || absent(other)) return absent(one) - absent(other);
  if (typeof one === "number" && typeof other === "number") return way * (one - other);
  return way * String(one).localeCompare(String(other), "en", { numeric: true });
}

function overview() {
  const ticked = new Set(chosen()), [by, way] = chosenColumns.sort, sorted = columnOf(by);
  const names = [NAME, ...chosenColumns.columns], columns = names.map(columnOf), items = filtered();
  const keys = new Map(items.map(entry => [entry, entry[0] && by === NAME ? entry[0] : valueOf(sorted, entry)]));
  items.sort((one, other) => inOrder(keys.get(one), keys.get(other), way));
  const rows = [];
  for (const [name, runs] of items) {
    if (!name) rows.push([runs[0], null]);
    else {
      rows.push([null, [name, runs]]);
      if (page.unfolded.has(name)) {
        const inside = runs.sort((one, other) => inOrder(sorted.value(one), sorted.value(other), way));
        rows.push(...inside.map(run => [run, null]));
      }
    }
  }
  const some = rows.slice(0, page.most), visible = items.flatMap(([, runs]) => runs.map(run => run.id));
  const all = visible.length > 0 && visible.every(id => ticked.has(id));
  const box = make("input", { type: "checkbox", checked: all, "data-tick": visible.slice(0, MOST_TICKED).join(),
    "aria-label": tr("Tick all {count}", { count: Math.min(MOST_TICKED, visible.length) }) });
  for (const column of columns) {
    column.right = column.number || items.some(([, runs]) => runs.some(run => typeof column.value(run) === "number"));
  }
  const heads = columns.map((column, place) => make("th", { class: column.right ? "n" : null, scope: "col",
    "aria-sort": names[place] === by ? (way > 0 ? "ascending" : "descending") : null },
  make("button", { class: "sort", "data-sort": names[place] }, column.head)));
  const body = some.map(([run, job]) => run ? rowOf(run, columns, ticked) : groupRow(job, columns, ticked));
  return [bar([...ticked].filter(id => page.data.runs.has(id))), picker(),
    items.length ? make("div", { class: "scroll", "data-key": "table" }, make("table", { class: "overview" },
      make("thead", {}, make("tr", {}, make("th", { class: "tick" }, box), heads)), make("tbody", {}, body)))
      : make("p", { class: "quiet", "data-key": "table" }, nothing()),
    rows.length > some.length ? make("p", { "data-key": "more" }, make("button", { "data-more": true },
      tr("Show more ({shown} of {count})", { shown: some.length, count: rows.length }))) : null].filter(Boolean);
}

function cellsOf(columns, texts) {
  return columns.slice(1).map((column, place) => make("td", { class: column.right ? "n" : null }, texts[place + 1]));
}

function textOf(column, value, run) {
  if (column.number || column.setting) return value === null || value === undefined ? "" : column.text(value);
  return run ? column.text(run) : value ?? "";
}

function rowOf(run, columns, ticked) {
  const values = columns.map(column => column.value(run));
  const texts = columns.map((column, place) => textOf(column, values[place], run));
  const name = run.group ? run.name.slice(run.group.length + 1) : run.name;
  const box = make("input", { type: "checkbox", checked: ticked.has(run.id), "data-tick": run.id,
    "aria-label": tr("Tick {run}", { run: run.name }) });
  return make("tr", { "data-key": run.id, class: run.group ? "inside" : null }, make("td", { class: "tick" }, box),
    make("th", { scope: "row" }, make("a", { href: link([run.id], { view: "" }) }, name),
      run.note ? make("span", { class: "noted", title: tr("has a note") }, " ✎") : null),
    cellsOf(columns, texts));
}

function groupRow([name, runs], columns, ticked) {
  const { id, tuning, tags } = page.data.groups.get(name), ids = runs.map(run => run.id), open = page.unfolded.has(name);
  const values = columns.map(column => commonValue(column, runs));
  const texts = columns.map((column, place) => column === COLUMNS.get("state") ? counted(runs)
    : column === COLUMNS.get("tags") ? tagsOf(tags) ?? "" : textOf(column, values[place], null));
  const box = make("input", { type: "checkbox", checked: ids.every(key => ticked.has(key)), "data-tick": ids.join(),
    "aria-label": tr("Tick the {count} runs of {group}", { count: runs.length, group: name }) });
  return make("tr", { "data-key": `group ${name}`, class: "folder" }, make("td", { class: "tick" }, box),
    make("th", { scope: "row" },
      make("button", { class: "fold", "data-fold": name, "aria-expanded": String(open), "aria-label": tr("Runs of {group}", { group: name }) },
        open ? "▾" : "▸"),
      make("a", { href: link([], { view: "", group: id }) }, name),
      make("span", { class: "small" }, tuning
        ? tr("{count} trials; numbers: the highest", { count: runs.length })
        : tr("{count} runs; numbers: the highest", { count: runs.length }))),
    cellsOf(columns, texts));
}

function bar(ids) {
  const films = ids.length > 1 ? make("a", { class: "button", href: link(ids, { view: "", films: 1 }) }, tr("Videos side by side")) : null;
  return make("div", { class: "buttons", id: "ticked", "data-key": "bar" }, make("span", { class: "quiet" }, tr("{count} ticked", { count: ids.length })),
    ids.length ? [make("a", { class: "button first", href: link(ids, { view: "" }) }, tr("Show in one chart")),
      make("button", { "data-compare": ids.join(), disabled: ids.length < 2 }, tr("Compare the ticked")), films,
      make("a", { class: "button", href: link([]) }, tr("Untick all"))] : null);
}

function picker() {
  const words = page.sought.toLowerCase();
  const ours = [...COLUMNS].filter(([name]) => name !== NAME).map(([name, { head }]) => [name, head, true]);
  const names = [...ours, ...page.settings.names.map(([name, differs]) => [name, name, differs])]
    .filter(([, text]) => text.toLowerCase().includes(words));
  const choices = names.slice(0, 120).map(([name, text, differs]) => make("label", { class: differs ? null : "quiet",
    "data-key": name }, make("input", { type: "checkbox", "data-column": name,
    checked: chosenColumns.columns.includes(name) }), ` ${text}`));
  return make("details", { class: "picker", id: "picker", "data-key": "picker" }, make("summary", {}, tr("Columns")),
    make("input", { type: "search", id: "sought", placeholder: tr("Setting or number"),
      "aria-label": tr("Show only columns with these letters") }),
    make("p", { class: "small" }, tr("Settings that differ come first; those that are equal in all runs are gray.")),
    make("div", { class: "choices" }, choices),
    make("button", { "data-usual": true }, tr("The usual columns")));
}

const overviewShown = () => wish().get("view") === "table";

/** Asks for the settings that are columns, if there may be new ones. */
async function askSettings(changed) {
  const columns = settingsWanted(), named = the("picker")?.open ?? false, { settings } = page;
  const known = columns.every(name => settings.columns.includes(name)) && (!named || settings.names.length);
  if (!overviewShown() || !(columns.length || named) || (known && !changed && !settings.left)) return;
  const query = new URLSearchParams([...columns.map(name => ["column", name]), ...(named ? [["named", 1]] : [])]);
  const answer = await fetched(`settings?${query}`);
  if (!answer || answer === REFUSED) return;
  page.settings = { columns, names: answer.names ?? settings.names, cells: answer.cells, left: answer.left };
  draw();
  if (answer.left) setTimeout(() => askSettings(true), 50);
}

the("overview").addEventListener("click", ({ target }) => {
  const { sort, fold, usual } = target.closest?.("button")?.dataset ?? {};
  if (sort) {
    const [by, way] = chosenColumns.sort, first = columnOf(sort).number ? -1 : 1;
    chosenColumns.sort = [sort, by === sort ? -way : first];
  } else if (fold) {
    if (!page.unfolded.delete(fold)) page.unfolded.add(fold);
  } else if (usual !== undefined) chosenColumns.columns = USUAL;
  else return;
  keepColumns();
  draw();
});
the("overview").addEventListener("change", ({ target }) => {
  const { tick, column: name } = target.dataset;
  if (name) {
    const others = chosenColumns.columns.filter(other => other !== name);
    chosenColumns.columns = target.checked ? [...others, name].slice(0, MOST_COLUMNS) : others;
    keepColumns();
    draw();
    askSettings(false);
  }
  if (tick === undefined) return;
  const ids = tick.split(",").filter(Boolean), rest = chosen().filter(id => !ids.includes(id));
  location.hash = link(target.checked ? [...rest, ...ids].slice(0, MOST_TICKED) : rest);
});
the("overview").addEventListener("input", ({ target }) => {
  if (target.id !== "sought") return;
  page.sought = target.value;
  draw();
});
the("overview").addEventListener("toggle", ({ target }) => target.id === "picker" && target.open && askSettings(true), true);
