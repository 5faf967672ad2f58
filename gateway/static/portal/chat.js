// The chat page: events in, changes of the page out. Each part has its own module.
import { Answers } from "./answers.js";
import { watchCards } from "./cards.js";
import { Composer } from "./composer.js";
import { Connection } from "./connection.js";
import { Conversation } from "./conversation.js";
import { Draft } from "./drafts.js";
import { post } from "./http.js";
import { watchMenu } from "./menu.js";
import { watchSessions } from "./sessions.js";
import { word } from "./words.js";

const main = document.querySelector("main");
const { session } = main.dataset;
const { user } = document.body.dataset;
const announce = main.querySelector("[data-announce]");
const stop = main.querySelector("[data-stop]");
const state = main.querySelector("[data-state]");
const calls = new Map(); // call id -> message id
const refreshSessions = watchSessions(document.querySelector("[data-list]"));
let running = main.dataset.running;
let outcome = ""; // what is said of the run that ended last

const composer = new Composer(main.querySelector("[data-composer]"), {
  draft: new Draft(user, session),
  max: Number(main.dataset.max),
  send: session ? send : begin,
});
const conversation = session ? new Conversation(main, changed) : null;
const answers = session ? new Answers(conversation, conversation.base) : null;

async function send(message) {
  document.querySelector("[data-welcome]")?.remove();
  const shown = conversation.mine(message.client_id, message.text);
  try {
    await post(`/api/v1/sessions/${session}/messages`, message);
  } catch (error) {
    if (conversation.arrived(message.client_id)) return;
    shown.remove();
    throw error;
  }
}

// The first message makes the session; should it not get there, the draft waits in the session.
async function begin(message) {
  const made = await post("/api/v1/sessions", {});
  try {
    await post(`/api/v1/sessions/${made.id}/messages`, message);
  } catch {
    new Draft(user, made.id).write({ text: message.text, unsent: composer.unsent });
  }
  location.assign(`/s/${made.id}/`);
}

// Something on the page is another than before.
function changed() {
  if (composer.unsent && conversation.arrived(composer.unsent.client_id)) composer.arrived();
  showState();
}

function showState() {
  const doing = word(main.querySelector("[data-approval]") ? "asks" : "working");
  const queued = main.querySelector("[data-queued]") ? ` ${word("queued")}` : "";
  const text = running ? doing + queued : outcome;
  if (state.textContent !== text) state.textContent = text;
  stop.hidden = !running;
}

function setRunning(run, said = "") {
  running = run;
  outcome = said;
  showState();
  refreshSessions();
}

// A run has ended: the one whose end is waited for here, a command beside it, or a queued one.
function ended(run, said = "") {
  if (run !== running) return refreshSessions();
  answers.discard();
  setRunning("", said);
}

function refreshAsked(run) {
  const asked = main.querySelector(`article.user[data-run="${run}"]`);
  if (asked) conversation.refresh(asked.dataset.message);
}

function refreshCall(id) {
  // Known from its event, or from the page as it came.
  const message = calls.get(id) ?? conversation.ofCall(id);
  if (message) conversation.refresh(message);
}

function asked({ data }) {
  refreshSessions();
  document.dispatchEvent(new CustomEvent("approvals"));
  refreshCall(data.call);
}

const on = {
  async "session.snapshot"({ data }) {
    await conversation.reload();
    answers.resume(data.live);
    setRunning(data.run?.id ?? "");
  },
  "run.queued": refreshSessions,
  async "run.started"({ run, data }) {
    setRunning(run);
    if (data.branched) await conversation.reload();
    else conversation.begun(data.message);
  },
  "message.started"({ data, run }) {
    if (answers.isFinal(data.message)) return;
    setRunning(run);
    answers.start(data.message);
  },
  "message.delta"({ data }) {
    if (answers.isFinal(data.message)) return;
    if (!answers.add(data.message, data.text, data.offset)) connection.restart();
  },
  "message.completed"({ data }) {
    conversation.accepted(data.client_id, data.message);
    conversation.written(data.message, data.position);
    const streamed = answers.finish(data.message);
    conversation.refresh(data.message, (article) => {
      if (streamed) announce.textContent = article.querySelector("[data-answer]")?.textContent ?? "";
    });
  },
  "tool.requested"({ data }) {
    calls.set(data.id, data.message);
    conversation.refresh(data.message);
  },
  "tool.started": ({ data }) => refreshCall(data.id),
  "tool.output"({ data }) {
    const box = main.querySelector(`[data-call="${data.id}"] [data-output]`);
    if (box) box.textContent = (box.textContent + data.text).slice(-20000);
  },
  "tool.completed": ({ data }) => refreshCall(data.id),
  permission_request: asked,
  permission_resolved: asked,
  "run.completed": ({ run }) => ended(run),
  "run.failed"({ data, run }) {
    ended(run, `${word("failed")} ${data.message}`);
    refreshAsked(run);
  },
  "run.cancelled"({ run }) {
    ended(run, word("cancelled"));
    refreshAsked(run);
  },
};

async function cancel() {
  stop.disabled = true;
  try {
    await post(`/api/v1/runs/${running}/cancel`, {});
  } catch (error) {
    // 409: it has ended by itself.
    if (error.status !== 409) composer.say(error.message);
  }
  stop.disabled = false;
}

async function tryAgain(button) {
  const { message, run } = button.closest("[data-message]").dataset;
  button.disabled = true;
  try {
    await post(`/api/v1/messages/${message}/regenerate`, { client_id: `retry-${message}-${run}` });
  } catch (error) {
    composer.say(error.message);
    button.disabled = false;
  }
}

let connection = null;
if (session) {
  const lost = main.querySelector("[data-lost]");
  // In mid-answer the page has no text of it yet: the snapshot does.
  connection = new Connection(session, running ? null : Number(main.dataset.seq), {
    home: main.dataset.home,
    onEvent: (event) => on[event.type]?.(event),
    onState: (text) => (lost.textContent = text),
  });
  watchCards(main, (card) => refreshCall(card.closest("[data-call]").dataset.call));
  changed();
}

watchMenu(document.querySelector("[data-menu]"), document.querySelector("[data-list]"));
stop.addEventListener("click", cancel);
main.addEventListener("click", ({ target }) => {
  const suggestion = target.closest("[data-suggest]");
  const again = target.closest("[data-regenerate]");
  if (suggestion) composer.fill(suggestion.textContent);
  if (again) tryAgain(again);
});
