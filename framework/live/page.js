
// The page: asks for the runs every two seconds while it is visible, and draws what has changed.

const TOKEN = new URLSearchParams(location.search).get("token") ?? "";
const REFUSED = "refused", EVERY = 2000, MOST_WAIT = 30000, BUSY = 20;
const page = { data: null, at: null, timer: 0, failures: 0, asked: 0, signs: new Map() };
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
  if (page.data) morphChildren(the("shown"), [shown(wanted())]);
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
  page.at = null;
  draw();
  if (document.body.classList.contains("chosen") && matchMedia("(max-width: 56rem)").matches) the("shown").focus();
  ask();
}

/** Moves the pointer of the chart to a share of its width; null takes it away. */
function point(share) {
  const runs = read(wanted());
  page.at = share === null ? null : Math.min(1, Math.max(0, share)) * range(series(runs).lines).right;
  drawShown();
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
the("shown").addEventListener("pointermove", event => {
  const svg = event.target.closest?.("svg.chart"), box = svg?.getBoundingClientRect();
  if (svg) point((event.clientX - box.left - ROOM.left) / (box.width - ROOM.left - ROOM.right));
  else if (page.at !== null && document.activeElement?.nodeName !== "svg") point(null);
});
the("shown").addEventListener("keydown", event => {
  if (!event.target.closest?.("svg.chart")) return;
  const steps = { ArrowLeft: -0.01, ArrowRight: 0.01, PageUp: -0.1, PageDown: 0.1, Home: -1, End: 1 }[event.key];
  if (event.key === "Escape") point(null);
  if (steps === undefined) return;
  event.preventDefault();
  point((page.at ?? 0) / range(series(read(wanted())).lines).right + steps);
});
ask();
