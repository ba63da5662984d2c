
// What the page asks to be done: to stop a run, to keep tags and a note, to compare runs.

/** Sends a request to do something. Returns its answer, or null after a message. */
async function post(action, asked) {
  try {
    const answer = await fetch(action, { method: "POST", body: JSON.stringify(asked), cache: "no-store",
      headers: { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" } });
    const told = answer.ok ? await answer.json() : { error: await answer.text() };
    if (!told.error) return told;
    tell(tr("Not done: {error}", { error: told.error }));
  } catch {
    tell(tr("Not done: the command watch does not answer."));
  }
  return null;
}

/** Shows a message until the next one. */
function tell(text) {
  the("said").textContent = text;
}

const JOBS = new Map([["run", tr("the run")], ["group", tr("the group")], ["tuning", tr("the tuning")]]);

/** Asks whether to stop what has this id, and does. kind: run, group or tuning. */
function confirmStop(id, kind) {
  const what = JOBS.get(kind);
  the("question").textContent = tr("Stop {what}? It saves, as after Ctrl-C in its terminal, and can be resumed.", { what });
  the("yes").onclick = async () => { // the event "close" may come late, from a question that was asked before
    the("confirm").close();
    const told = await post("stop", { run: id });
    if (told) tell(tr("{what}: {answer}.", { what, answer: told.said }));
    ask();
  };
  the("confirm").showModal();
  the("no").focus();
}

async function compare(ids) {
  tell(tr("Comparing …"));
  const told = await post("compare", { runs: ids });
  if (!told) return;
  tell("");
  location.assign(told.url);
}

/** Returns a form for the tags and the note of a run or a group. */
function notesForm(id, tags, note) {
  const text = tags.join(", ");
  return make("form", { class: "notes", "data-notes": id, "data-key": `notes ${id}` },
    make("label", {}, make("span", { class: "small" }, tr("Tags, with commas between them")),
      make("input", { name: "tags", type: "text", value: text, autocomplete: "off" })),
    make("label", {}, make("span", { class: "small" }, tr("Note")),
      make("textarea", { name: "note", rows: 3, maxlength: 10000 }, note)),
    make("button", {}, tr("Save")));
}

async function saveNotes(form) {
  const tags = form.elements.tags.value.split(/[,，、]/).map(tag => tag.trim()).filter(Boolean);
  const told = await post("notes", { run: form.dataset.notes, tags, note: form.elements.note.value });
  if (!told) return;
  tell(tr("Tags and note are saved."));
  ask();
}

const tagsOf = tags => tags.length ? make("span", { class: "tags" },
  tags.map(tag => make("span", { class: "tag" }, tag))) : null;

const stopButton = (id, kind) => make("button", { class: "danger", "data-stop": id, "data-kind": kind },
  tr("Stop {what}", { what: JOBS.get(kind) }));

the("no").addEventListener("click", () => the("confirm").close());
addEventListener("submit", event => {
  event.preventDefault();
  if (event.target.dataset.notes) saveNotes(event.target);
});
addEventListener("click", ({ target }) => {
  const { stop, kind, compare: compared } = target.closest?.("button")?.dataset ?? {};
  if (stop) confirmStop(stop, kind);
  if (compared) compare(compared.split(","));
});
