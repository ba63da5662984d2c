/* Sorts a table by the column whose head is clicked; empty cells stay below. */
for (const table of document.querySelectorAll(".sortable table")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const value = (row, column) => {
    const text = row.cells[column].textContent, number = Number(text.replaceAll(",", ""));
    return text === "" ? null : isNaN(number) ? text : number;
  };
  const compare = (a, b) => typeof a === typeof b && typeof a === "number" ? a - b : String(a).localeCompare(String(b));
  heads.forEach((head, column) => {
    head.tabIndex = 0;
    const sort = () => {
      const up = head.getAttribute("aria-sort") !== "ascending", sign = up ? 1 : -1;
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows].map(row => [value(row, column), row]);
      rows.sort(([a], [b]) => a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b));
      body.append(...rows.map(([, row]) => row));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", event => event.key === "Enter" && sort());
  });
}
/* Says of a page that should have been written again that its tuning may have been killed; shows the command then. */
const alive = document.querySelector(".alive");
const look = () => {
  if (Date.now() / 1000 < Number(alive.dataset.until)) return void setTimeout(look, 5000);
  alive.textContent = `ran at ${alive.dataset.written}; if this page, loaded again, names no later time, it was killed`;
  for (const part of document.querySelectorAll("[hidden]")) part.hidden = false;
};
if (alive) look();
