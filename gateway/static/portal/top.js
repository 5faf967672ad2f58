// The top of every page: how many approvals wait, kept fresh; and what leaves with the user.
import { forgetDrafts } from "./drafts.js";
import { json } from "./http.js";

const BETWEEN = 5000;
const link = document.querySelector("[data-waiting]");
const count = link.querySelector("b");
const title = document.title;

function show(waiting) {
  count.textContent = waiting;
  link.classList.toggle("some", waiting > 0);
  document.title = waiting > 0 ? `(${waiting}) ${title}` : title;
}

async function look() {
  if (document.hidden) return;
  let waiting;
  try {
    ({ waiting } = await json(link.dataset.waiting));
  } catch {
    return; // the next look may do better
  }
  if (waiting === Number(count.textContent)) return;
  show(waiting);
  document.dispatchEvent(new CustomEvent("waiting"));
}

show(Number(count.textContent));
setInterval(look, BETWEEN);
document.addEventListener("visibilitychange", look);
// What this page does or hears may change the number at once.
document.addEventListener("approvals", look);
document.querySelector("[data-logout]").addEventListener("submit", () => {
  forgetDrafts(document.body.dataset.user);
});
