// The inbox: decide in place; what is new comes, what is settled goes to the history.
import { watchCards } from "./cards.js";
import { fragment } from "./http.js";

const BETWEEN = 5000;
const box = document.querySelector("[data-inbox]");
const note = document.querySelector("[data-note]");
let rounds = 0; // an answer to an earlier look would bring back what was decided since
const entry = (root, id) => root.querySelector(`[data-call="${id}"]`);

// Cards that still wait are left alone: somebody may be typing in them.
function merge(fresh) {
  const old = box.querySelector("[data-pending]");
  for (const call of old.querySelectorAll("[data-call]")) {
    if (!entry(fresh, call.dataset.call)) leave(call);
  }
  for (const call of fresh.querySelectorAll("[data-call]")) {
    if (!entry(old, call.dataset.call)) old.append(call);
  }
  for (const part of ["[data-empty]", "[data-history]"]) {
    box.querySelector(part).replaceWith(fresh.querySelector(part));
  }
}

function leave(call) {
  const next = (call.nextElementSibling ?? call.previousElementSibling)?.querySelector("[data-approval]");
  const focused = call.contains(document.activeElement);
  call.remove();
  if (focused) (next ?? document.querySelector("main")).focus();
}

async function refresh() {
  if (document.hidden) return;
  const round = ++rounds;
  try {
    const fresh = await fragment(box.dataset.inbox);
    if (round === rounds) merge(fresh);
  } catch {
    // The next look may do better.
  }
}

watchCards(box, (card) => {
  note.textContent = card.querySelector("[data-error]").textContent;
  document.dispatchEvent(new CustomEvent("approvals"));
  refresh();
});
setInterval(refresh, BETWEEN);
document.addEventListener("visibilitychange", refresh);
