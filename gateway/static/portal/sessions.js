// The list at the left: its filter, which the server applies, and its state kept fresh.
import { fragment } from "./http.js";

const GATHER = 400; // ms in which the events of a run, or typed letters, make one look

export function watchSessions(list) {
  const filter = list.querySelector("[data-filter]");
  let timer = null;
  let show = "";
  const look = () => refresh(list, { q: filter.value, show });
  const lookSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(look, GATHER);
  };
  filter.addEventListener("input", lookSoon);
  list.addEventListener("click", (event) => {
    const more = event.target.closest("[data-more]");
    if (!more) return;
    show = more.dataset.more;
    look();
  });
  // Another session waits for an answer, or waits no more.
  document.addEventListener("waiting", lookSoon);
  return lookSoon;
}

let round = 0;

async function refresh(list, wanted) {
  const groups = list.querySelector("[data-groups]");
  const mine = ++round;
  let fresh;
  try {
    const query = new URLSearchParams({ current: list.dataset.current, ...wanted });
    fresh = await fragment(`${list.dataset.list}?${query}`);
  } catch {
    return;
  }
  if (mine !== round) return; // a later look has been made
  const inside = groups.contains(document.activeElement);
  const focused = inside && document.activeElement.getAttribute("href");
  groups.replaceChildren(fresh);
  if (focused) groups.querySelector(`[href="${focused}"]`)?.focus({ preventScroll: true });
}
