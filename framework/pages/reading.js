
// Reading a page: tables that can be sorted, commands that can be copied, the section that one reads.

/** Returns what a cell is sorted by: a number, a duration in seconds, or text; null if it is empty. */
function sortedBy(cell) {
  const text = cell.textContent.trim(), plain = text.replaceAll(",", "");
  if (text === "" || text === "–") return null;
  if (!cell.classList.contains("n")) return text;
  if (/^\d+(:\d\d){1,2}$/.test(plain)) return plain.split(":").reduce((sum, part) => 60 * sum + Number(part), 0);
  const number = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?/i.exec(plain);
  return number ? Number(number[0]) : text;
}

function compared(one, other) {
  if (one === null || other === null) return null;
  return typeof one === "number" && typeof other === "number" ? one - other
    : String(one).localeCompare(String(other), "en", { numeric: true });
}

/** Makes a table sortable: each head is a button; empty cells stay below. */
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells], [body] = table.tBodies;
  for (const [column, head] of heads.entries()) {
    if (!head.textContent) continue;
    const button = make("button", { type: "button", class: "sort" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows].map(row => [sortedBy(row.cells[column]), row]);
      rows.sort(([one], [other]) => compared(one, other) === null ? (one === null) - (other === null)
        : (up ? 1 : -1) * compared(one, other));
      body.append(...rows.map(([, row]) => row));
    });
  }
}

/** Copies the text of an element; it stays selected where a browser refuses. */
function copied(element) {
  const range = document.createRange(), selection = getSelection();
  range.selectNodeContents(element);
  selection.removeAllRanges();
  selection.addRange(range);
  return document.execCommand("copy"); // the newer way needs a permission that a local file may not have
}

for (const table of document.querySelectorAll("table.sortable")) sortable(table);
for (const command of document.querySelectorAll("pre.command")) {
  const button = make("button", { type: "button", class: "copy" }, tr("Copy"));
  button.addEventListener("click", () => {
    button.textContent = copied(command) ? tr("Copied") : tr("Press Ctrl-C");
    setTimeout(() => { button.textContent = tr("Copy"); }, 2000);
  });
  const both = make("div", { class: "copyable" });
  command.replaceWith(both);
  both.append(command, button);
}

const links = new Map([...document.querySelectorAll("nav.contents a")].map(link => [link.hash.slice(1), link]));

/** Marks the section that is read: the last one that begins in the upper third of the window. */
function markSection() {
  const top = id => document.getElementById(id).getBoundingClientRect().top;
  const begun = [...links.keys()].filter(id => top(id) < innerHeight / 3);
  const ended = scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
  const current = (ended ? [...links.keys()] : begun).at(-1);
  for (const [id, link] of links) {
    if (id !== current) link.removeAttribute("aria-current");
    else if (!link.hasAttribute("aria-current")) {
      link.setAttribute("aria-current", "location");
      const { parentElement: list } = link;
      list.scrollTo?.({ left: link.offsetLeft - list.offsetLeft - list.clientWidth / 2 + link.clientWidth / 2 });
    }
  }
}

if (links.size) {
  const later = () => requestAnimationFrame(markSection);
  for (const event of ["scroll", "resize"]) addEventListener(event, later, { passive: true });
  markSection();
}
