// The list of sessions as a slide, on a phone.

export function watchMenu(button, panel) {
  const isOpen = () => document.body.classList.contains("menu-open");
  const setOpen = (open) => {
    document.body.classList.toggle("menu-open", open);
    button.setAttribute("aria-expanded", String(open));
    if (open) panel.querySelector("button, a, input").focus();
    else button.focus();
  };
  button.addEventListener("click", () => setOpen(!isOpen()));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isOpen()) setOpen(false);
  });
  document.addEventListener("click", ({ target }) => {
    if (isOpen() && !panel.contains(target) && !button.contains(target)) setOpen(false);
  });
}
