// The list at the left: its filter, and its state kept fresh.
import { fragment } from "./http.js";

const GATHER = 400; // ms in which the events of a run make one look

export function watchSessions(list) {
  const filter = list.querySelector("[data-filter]");
  filter.addEventListener("input", () => narrow(list, filter.value));
  let timer = null;
  const refreshSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(() => refresh(list, filter), GATHER);
  };
  // Another session waits for an answer, or waits no more.
  document.addEventListener("waiting", refreshSoon);
  return refreshSoon;
}

function narrow(list, wanted) {
  for (const item of list.querySelectorAll("li")) {
    item.hidden = !item.textContent.toLowerCase().includes(wanted.toLowerCase());
  }
}

async function refresh(list, filter) {
  const groups = list.querySelector("[data-groups]");
  let fresh;
  try {
    fresh = await fragment(`${list.dataset.list}?current=${list.dataset.current}`);
  } catch {
    return;
  }
  const focused = groups.contains(document.activeElement) && document.activeElement.getAttribute("href");
  groups.replaceChildren(fresh);
  narrow(list, filter.value);
  if (focused) groups.querySelector(`[href="${focused}"]`)?.focus({ preventScroll: true });
}
