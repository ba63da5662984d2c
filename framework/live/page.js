
// The page: asks for the runs every two seconds while it is visible, and draws what has changed.

const TOKEN = new URLSearchParams(location.search).get("token") ?? "";
const REFUSED = "refused", EVERY = 2000, SOON = 50, MOST_WAIT = 30000, BUSY = 20, KEPT_CHARTS = "joystick.charts";

// ---------------------------------------------------------------------------------- what the address says

const wish = () => new URLSearchParams(location.hash.slice(1));
const column = () => wish().get("column") || "return";
const chosen = () => (wish().get("show") || "").split(",").filter(Boolean);
const wantedGroup = () => wish().get("group") ?? "";

/** Returns the runs to show: the chosen ones, or the first in the list. */
function wanted() {
  const ids = chosen(), first = page.data?.order[0];
  return wantedGroup() ? [] : ids.length ? ids.slice(0, MOST_SHOWN) : first ? [first.id] : [];
}

/** Returns an address of runs. changes: other parts of it; `list` shows the list and not the runs on a narrow screen. */
function link(ids, changes = {}) {
  const { column: name, view: kind, ...others } = { column: column(), view: wish().get("view") ?? "", ...changes };
  const words = [ids.length && `show=${ids.join(",")}`, name !== "return" && `column=${encodeURIComponent(name)}`,
    kind && `view=${kind}`, ...Object.entries(others).map(([key, value]) => `${key}=${value}`)];
  return `#${words.filter(Boolean).join("&")}`;
}

// -------------------------------------------------------------------------------------------- drawing, asking

function draw() {
  if (!page.data) return;
  const ids = wanted(), runs = page.data.order, table = overviewShown();
  document.body.classList.toggle("table", table);
  document.body.classList.toggle("chosen", !table && (chosen().length > 0 || wantedGroup() !== "") && !wish().get("list"));
  const running = runs.filter(run => run.running).length, left = page.data.left;
  document.title = running ? tr("{count} running · Runs", { count: running }) : tr("Runs");
  morph(the("place"), make("p", { id: "place", class: "quiet" }, [
    tr("{count} in {folder}", { count: runs.length, folder: page.data.folder }),
    running ? tr("{count} running", { count: running }) : "",
    left ? tr("{count} more are being read", { count: left }) : ""].filter(Boolean).join(tr(", "))));
  const views = [["", tr("Charts")], ["table", tr("Table")]].map(([name, text]) => make("a", { class: "button",
    href: link(chosen(), { view: name }), "aria-current": (name === "table") === table ? "page" : null }, text));
  morphChildren(the("views"), views);
  the("columns").hidden = table;
  the("overview").hidden = !table;
  if (table) morphChildren(the("overview"), overview());
  else {
    const together = make("a", { class: "button first narrow", href: link(ids) }, tr("Show {count} runs in one chart",
      { count: ids.length }));
    morphChildren(the("list"), ids.length > 1 ? [list(ids), together] : [list(ids)]);
    drawShown();
  }
}

function drawShown() {
  if (!page.data) return;
  morphChildren(the("shown"), [wantedGroup() ? groupShown() : shown(wanted())]);
  if (wantedGroup()) drawGroup();
  else if (read(wanted()).length) drawRuns(read(wanted()));
}

/** Takes over an answer: rows that have changed, and the rest as it is. */
function take(answer) {
  const runs = answer.since ? page.data.runs : new Map();
  for (const run of answer.runs) runs.set(run.id, run);
  for (const id of answer.gone) runs.delete(id);
  const order = [...runs.values()].sort((one, other) => other.running - one.running || other.changed - one.changed);
  page.data = { ...answer, runs, order, groups: new Map(answer.groups.map(job => [job.name, job])) };
}

/** Asks for the runs, draws them, and asks again later: at once if more is waiting, later if nothing answers. */
async function ask() {
  clearTimeout(page.timer);
  if (document.hidden) return;
  const number = ++page.asked, begun = performance.now(), first = !page.data;
  const query = new URLSearchParams([...wanted().map(id => ["show", id]), ["column", column()], ["group", wantedGroup()],
    ["since", page.data?.version ?? 0]]);
  const answer = await fetched(`now?${query}`);
  if (number !== page.asked) return; // another choice was made meanwhile
  if (answer === REFUSED) {
    say(tr("This address is of an earlier start. Open the one that the command watch has printed last."));
    return;
  }
  page.failures = answer ? 0 : page.failures + 1;
  let wait = Math.min(MOST_WAIT, EVERY * 2 ** page.failures);
  say(answer ? "" : tr("The command watch does not answer. Next try in {seconds} s.", { seconds: wait / 1000 }));
  if (answer) {
    take(answer);
    draw();
    askSettings(answer.runs.length + answer.gone.length > 0);
    const waiting = first && wanted().length || answer.left || answer.group?.more
      || Object.values(answer.shown).some(details => details.more);
    wait = waiting ? SOON : Math.max(EVERY, BUSY * (performance.now() - begun));
  }
  page.timer = setTimeout(ask, wait);
}

/** Returns the answer of the server, REFUSED, or null. */
async function fetched(address) {
  try {
    const answer = await fetch(address, { headers: { Authorization: `Bearer ${TOKEN}` }, cache: "no-store" });
    return answer.status === 401 ? REFUSED : answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

function say(text) {
  if (the("trouble").textContent !== text) the("trouble").textContent = text;
}

function choose() {
  page.trial = null;
  draw();
  if (document.body.classList.contains("chosen") && matchMedia("(max-width: 56rem)").matches) the("shown").focus();
  ask();
}

addEventListener("hashchange", choose);
addEventListener("resize", drawShown);
document.addEventListener("visibilitychange", ask);
the("filter").addEventListener("input", () => {
  page.most = MOST_LISTED;
  draw();
});
the("skip").addEventListener("click", () => (overviewShown() ? the("sought") ?? the("filter") : the("shown")).focus());
the("list").addEventListener("change", ({ target }) => {
  const ids = wanted(), run = target.dataset.run;
  target.closest("li")?.removeAttribute("data-sign"); // its box shows another state than it was drawn with
  if (run) location.hash = link(ids.includes(run) ? ids.filter(id => id !== run) : [...ids, run], { list: 1 });
});
the("shown").addEventListener("click", ({ target }) => {
  const button = target.closest?.("button[data-table]");
  if (button) sortTable(button.dataset);
});
the("shown").addEventListener("change", ({ target }) => {
  if (target.id === "column") location.hash = link(chosen(), { column: target.value });
  if (target.dataset.film) {
    page.films[target.dataset.film] = target.value;
    drawShown();
  }
});
addEventListener("click", ({ target }) => {
  if (target.closest?.("button")?.dataset.more === undefined) return;
  page.most += MOST_LISTED;
  draw();
});
view.remember = kept => {
  try {
    localStorage.setItem(KEPT_CHARTS, JSON.stringify(kept));
  } catch { /* a browser that keeps nothing */ }
};
try {
  recall(Object.entries(JSON.parse(localStorage.getItem(KEPT_CHARTS)) ?? {}));
} catch { /* nothing is kept, or something else */ }
ask();
