
// The page: asks for the runs every two seconds while it is visible, and draws what has changed.

const TOKEN = new URLSearchParams(location.search).get("token") ?? "";
const REFUSED = "refused", EVERY = 2000, MOST_WAIT = 30000, BUSY = 20, KEPT_CHARTS = "joystick.charts";
const page = { data: null, timer: 0, failures: 0, asked: 0, signs: new Map() };
const the = id => document.getElementById(id);

// ---------------------------------------------------------------------------------- what the address says

const wish = () => new URLSearchParams(location.hash.slice(1));
const column = () => wish().get("column") || "return";
const chosen = () => (wish().get("show") || "").split(",").filter(Boolean);

/** Returns the runs to show: the chosen ones, or the first in the list. */
function wanted() {
  const ids = chosen(), first = page.data?.runs[0];
  return ids.length ? ids.slice(0, MOST_SHOWN) : first ? [first.id] : [];
}

/** Returns an address. listed: on a narrow screen, show the list and not the chosen runs. */
function link(ids, name = column(), listed = false) {
  const words = [ids.length && `show=${ids.join(",")}`, name !== "return" && `column=${encodeURIComponent(name)}`,
    listed && "list=1"];
  return `#${words.filter(Boolean).join("&")}`;
}

// -------------------------------------------------------------------------------------------- drawing, asking

function draw() {
  if (!page.data) return;
  const ids = wanted();
  document.body.classList.toggle("chosen", chosen().length > 0 && !wish().get("list"));
  const running = page.data.runs.filter(run => run.running).length;
  document.title = running ? `${running} running · Runs` : "Runs";
  morph(the("place"), make("p", { id: "place", class: "quiet" },
    `${page.data.runs.length} in ${page.data.folder}${running ? `, ${running} running` : ""}`));
  const together = make("a", { class: "button first narrow", href: link(ids) }, `Show ${ids.length} runs in one chart`);
  morphChildren(the("list"), ids.length > 1 ? [list(ids), together] : [list(ids)]);
  drawShown();
}

function drawShown() {
  if (!page.data) return;
  morphChildren(the("shown"), [shown(wanted())]);
  if (read(wanted()).length) drawRuns(read(wanted()));
}

/** Asks for the runs, draws them, and asks again later: at once if more is waiting, later if nothing answers. */
async function ask() {
  clearTimeout(page.timer);
  if (document.hidden) return;
  const number = ++page.asked, begun = performance.now(), first = !page.data;
  const answer = await fetched();
  if (number !== page.asked) return; // another choice was made meanwhile
  if (answer === REFUSED) {
    say("This address is of an earlier start. Open the one that the command watch has printed last.");
    return;
  }
  page.failures = answer ? 0 : page.failures + 1;
  let wait = Math.min(MOST_WAIT, EVERY * 2 ** page.failures);
  say(answer ? "" : `The command watch does not answer. Next try in ${wait / 1000} s.`);
  if (answer) {
    page.data = answer;
    draw();
    const waiting = first && wanted().length || Object.values(answer.shown).some(details => details.more);
    wait = waiting ? 50 : Math.max(EVERY, BUSY * (performance.now() - begun));
  }
  page.timer = setTimeout(ask, wait);
}

/** Returns the answer of the server, REFUSED, or null. */
async function fetched() {
  const query = new URLSearchParams([...wanted().map(id => ["show", id]), ["column", column()]]);
  try {
    const answer = await fetch(`now?${query}`, { headers: { Authorization: `Bearer ${TOKEN}` }, cache: "no-store" });
    return answer.status === 401 ? REFUSED : answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

function say(text) {
  if (the("trouble").textContent !== text) the("trouble").textContent = text;
}

function choose() {
  draw();
  if (document.body.classList.contains("chosen") && matchMedia("(max-width: 56rem)").matches) the("shown").focus();
  ask();
}

addEventListener("hashchange", choose);
addEventListener("resize", drawShown);
document.addEventListener("visibilitychange", ask);
the("filter").addEventListener("input", draw);
the("skip").addEventListener("click", () => the("shown").focus());
the("list").addEventListener("change", ({ target }) => {
  const ids = wanted(), run = target.dataset.run;
  target.closest("li")?.removeAttribute("data-sign"); // its box shows another state than it was drawn with
  if (run) location.hash = link(ids.includes(run) ? ids.filter(id => id !== run) : [...ids, run], column(), true);
});
the("shown").addEventListener("change", event => {
  if (event.target.id === "column") location.hash = link(chosen(), event.target.value);
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
