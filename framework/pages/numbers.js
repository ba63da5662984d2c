
// The charts of a page that holds its numbers. What is set is kept in the address, behind the name of a section.

const numbers = JSON.parse(document.getElementById("numbers").textContent);

function remember(kept) {
  const [section] = location.hash.slice(1).split("&").filter(part => !part.includes("="));
  const words = Object.entries(kept).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  try {
    history.replaceState(null, "", `#${[section, ...words].filter(Boolean).join("&")}`);
  } catch {
    // a page in a frame of another site may not change its address
  }
}

function remembered() {
  const parts = location.hash.slice(1).split("&"), words = parts.filter(part => part.includes("="));
  if (words.length || !parts[0]) recall(new URLSearchParams(words.join("&")));
  else remember(view.kept); // a link to a section keeps what is set
  if (words.length && !parts[0].includes("=")) document.getElementById(parts[0])?.scrollIntoView();
}

Object.assign(view, { axes: numbers.axes, usual: numbers.smoothing, remember });
for (const place of document.querySelectorAll("[data-tools]")) place.append(controls());
for (const { place, name, tall, levels, lines } of numbers.charts) {
  const box = make("figure", { class: "curve" });
  document.querySelector(`[data-place="${place}"]`).append(box);
  plot(box, { name, tall, levels: levels ?? [], lines: placed(lines, numbers.x) });
}
addEventListener("hashchange", remembered);
showChoices();
remembered();
