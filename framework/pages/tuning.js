
// Says of a page that should have been written again that its tuning may have been killed; shows the command then.
const alive = document.querySelector(".alive");
const look = () => {
  if (Date.now() / 1000 < Number(alive.dataset.until)) return void setTimeout(look, 5000);
  alive.textContent = tr("ran at {time}; if this page, loaded again, names no later time, it was killed",
    { time: alive.dataset.written });
  for (const part of document.querySelectorAll("main > div[hidden]")) part.hidden = false;
};
if (alive) look();
