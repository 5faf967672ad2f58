// The list at the left: its filter, its state kept fresh, and the slide on a phone.
import { fragment } from "./http.js";

export function watchSessions(list) {
  const menu = document.querySelector("[data-menu]");
  menu.addEventListener("click", () => {
    const open = document.body.classList.toggle("menu-open");
    menu.setAttribute("aria-expanded", String(open));
  });
  list.addEventListener("input", () => filter(list));
  let timer = null;
  return () => {
    // Many events of one run make one look.
    clearTimeout(timer);
    timer = setTimeout(() => refresh(list), 400);
  };
}

function filter(list) {
  const wanted = list.querySelector("[data-filter]").value.toLowerCase();
  for (const item of list.querySelectorAll("li")) {
    item.hidden = !item.textContent.toLowerCase().includes(wanted);
  }
}

async function refresh(list) {
  const old = list.querySelector("[data-filter]");
  const kept = { value: old.value, focused: document.activeElement === old };
  let fresh;
  try {
    fresh = await fragment(`${list.dataset.list}?current=${list.dataset.current}`);
  } catch {
    return;
  }
  list.replaceChildren(fresh);
  const box = list.querySelector("[data-filter]");
  box.value = kept.value;
  if (kept.focused) box.focus();
  filter(list);
  const count = list.querySelector("[data-waiting-count]").textContent;
  const link = document.querySelector("[data-waiting]");
  link.querySelector("b").textContent = count;
  link.classList.toggle("some", count !== "0");
}
