
// Videos of several runs side by side, in step: one clock for all of them.

const RATES = [0.25, 0.5, 1, 2, 4], OFF = 120;
const clockwork = { at: 0, last: 0, length: 0, rate: 1, playing: false, players: [], box: null };

const isFilm = file => file.kind === "image/gif" || file.kind === "video/mp4";

/** Returns the newest video of each run beside those of the others, with the controls of all. choice: names by run. */
function filmsInStep(runs, choice) {
  const shown = runs.map(run => [run, page.data.shown[run.id].files.filter(isFilm)]).filter(([, files]) => files.length);
  if (shown.length < 2) return null;
  const figures = shown.map(([run, files]) => {
    const file = files.find(({ name }) => name === choice[run.id]) ?? files[0];
    const options = files.map(({ name }) => make("option", { value: name, selected: name === file.name }, name));
    const film = file.kind === "image/gif" ? make("img", { src: file.url, alt: `${run.name}, ${file.name}` })
      : make("video", { src: file.url, muted: true, preload: "metadata", "aria-label": `${run.name}, ${file.name}` });
    return [file.url, make("figure", {}, film, make("figcaption", { class: "small" }, `${titled(run)} · ${run.name}`,
      files.length > 1 ? make("select", { "data-film": run.id, "aria-label": tr("Video of {run}", { run: run.name }) }, options) : null))];
  });
  const bar = make("div", { class: "buttons" }, make("button", { "data-play": "play" }, tr("Play all")),
    make("button", { "data-play": "start" }, tr("From the start")),
    make("label", {}, `${tr("Speed")} `, make("select", { "data-play": "rate" }, RATES.map(rate =>
      make("option", { value: rate, selected: rate === 1 }, `${rate} ×`)))),
    make("input", { type: "range", min: 0, max: 1, step: "any", value: 0, "data-play": "place", "aria-label": tr("Place") }),
    make("output", { class: "quiet" }));
  return make("div", { class: "instep", "data-key": "instep", "data-sign": figures.map(([url]) => url).join() }, bar,
    make("div", { class: "films" }, figures.map(([, figure]) => figure)));
}

/** Returns the times in milliseconds at which the pictures of a GIF end. */
function endsOfPictures(bytes) {
  const table = flags => flags & 0x80 ? 3 << (flags & 7) + 1 : 0, ends = [];
  let place = 13 + table(bytes[10]), delay = 0, end = 0;
  const skip = () => {
    while (bytes[place]) place += bytes[place] + 1;
    place += 1;
  };
  for (;;) {
    if (bytes[place] === 0x21) {
      if (bytes[place + 1] === 0xf9) delay = bytes[place + 4] + 256 * bytes[place + 5];
      place += 2;
      skip();
    } else if (bytes[place] === 0x2c) {
      place += 11 + table(bytes[place + 9]);
      skip();
      end += 10 * (delay < 2 ? 10 : delay); // as browsers show it
      ends.push(end);
    } else return ends;
  }
}

/** Returns a player of a GIF that shows the picture of a time; null where the browser cannot. */
async function gifPlayer(image) {
  if (!globalThis.ImageDecoder) return null;
  const data = await (await fetch(image.src)).arrayBuffer(), ends = endsOfPictures(new Uint8Array(data));
  const decoder = new ImageDecoder({ data, type: "image/gif" });
  const canvas = make("canvas", { role: "img", "aria-label": image.alt });
  const player = { length: ends.at(-1) ?? 0, shown: -1, wanted: 0, busy: false };
  const next = async () => {
    player.busy = true;
    while (player.shown !== player.wanted) {
      const wanted = player.wanted, { image: picture } = await decoder.decode({ frameIndex: wanted });
      if (player.shown === -1) Object.assign(canvas, { width: picture.displayWidth, height: picture.displayHeight });
      canvas.getContext("2d").drawImage(picture, 0, 0);
      picture.close();
      player.shown = wanted;
    }
    player.busy = false;
  };
  player.show = at => {
    const found = ends.findIndex(end => at < end);
    player.wanted = found < 0 ? ends.length - 1 : found;
    canvas.dataset.picture = player.wanted;
    if (!player.busy) next();
  };
  image.replaceWith(canvas);
  return player;
}

function videoPlayer(video) {
  video.muted = true;
  return { get length() { return 1000 * (video.duration || 0); }, show: (at, playing) => {
    const place = Math.min(at / 1000, video.duration || 0);
    if (Math.abs(video.currentTime - place) * 1000 > (playing ? OFF : 1)) video.currentTime = place;
    video.playbackRate = clockwork.rate;
    const ended = place >= (video.duration || 0);
    if (playing && !ended && video.paused) video.play().catch(() => {});
    if ((!playing || ended) && !video.paused) video.pause();
  } };
}

/** Makes players of the videos that are there now. */
async function takeFilms(box) {
  if (clockwork.box === box && box.dataset.taken === box.dataset.sign) return;
  Object.assign(clockwork, { box, at: 0, playing: false, players: [] });
  box.dataset.taken = box.dataset.sign;
  const players = [...box.querySelectorAll("img, video")].map(film => film.nodeName === "IMG" ? gifPlayer(film)
    : videoPlayer(film));
  clockwork.players = (await Promise.all(players)).filter(Boolean);
  if (players.length > clockwork.players.length) {
    tell(tr("This browser shows GIFs only as they are: those of MP4 are in step (general_cfg.video_format=mp4)."));
  }
}

function tick(now) {
  const { box, players } = clockwork;
  if (!box?.isConnected) clockwork.playing = false;
  clockwork.length = Math.max(1, ...players.map(({ length }) => length));
  if (clockwork.playing) {
    clockwork.at += (now - clockwork.last) * clockwork.rate;
    if (clockwork.at >= clockwork.length) clockwork.at = 0; // all of them begin again
  }
  clockwork.last = now;
  for (const player of players) player.show(clockwork.at, clockwork.playing);
  showClock();
  if (clockwork.playing) requestAnimationFrame(tick);
}

function showClock() {
  const { box, at, length, playing } = clockwork;
  if (!box?.isConnected) return;
  box.querySelector("[data-play=play]").textContent = playing ? tr("Pause all") : tr("Play all");
  box.querySelector("[data-play=place]").value = at / length;
  box.querySelector("output").textContent = tr("{place} of {length} s",
    { place: (at / 1000).toFixed(1), length: (length / 1000).toFixed(1) });
}

addEventListener("click", async ({ target }) => {
  const act = target.closest?.("button[data-play]");
  if (!act) return;
  await takeFilms(act.closest(".instep"));
  if (act.dataset.play === "start") clockwork.at = 0;
  else clockwork.playing = !clockwork.playing;
  clockwork.last = performance.now();
  tick(clockwork.last);
});
addEventListener("input", async ({ target }) => {
  const box = target.closest?.(".instep");
  if (!box || !target.dataset.play) return;
  await takeFilms(box);
  if (target.dataset.play === "rate") clockwork.rate = Number(target.value);
  else {
    clockwork.at = Number(target.value) * clockwork.length;
    if (!clockwork.playing) tick(performance.now());
  }
});
