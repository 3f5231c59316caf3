// @ts-check
// The Markdown editor's toolbar: the buttons, their icons, and keyboard navigation.
import { create, setAttributes } from "./dom.js";

/** The icons' SVG paths, on a square of 24 units. */
const ICONS = {
  bold: "M7 5h6a3.5 3.5 0 0 1 0 7H7zM7 12h7a3.5 3.5 0 0 1 0 7H7z",
  italic: "M10 5h7M7 19h7M14 5l-4 14",
  heading: "M6 5v14M18 5v14M6 12h12",
  quote: "M5 6v12M10 8h10M10 12h10M10 16h6",
  unordered: "M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01",
  ordered: "M10 6h10M10 12h10M10 18h10M4 5l1-1v4M4 11h2l-2 3h2M4 17h2v3H4",
  code: "m9 8-4 4 4 4M15 8l4 4-4 4",
  link: "M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 6 6l1-1",
  photo: "M4 5h16v14H4zM8 10h.01M4 17l5-4 3 2 4-5 4 5",
  table: "M4 5h16v14H4zM4 10h16M10 5v14",
  divider: "M4 12h16M7 6h10M7 18h10",
  footnote: "M4 20h16M4 16h8M13 9V4l-2 1.5M5 11l3-7 3 7M6 9h4",
  insert: "M4 4h16v16H4zM12 8v8M8 12h8",
  photoText: "M4 4h16M7 8h10v8H7zM4 20h16",
  photoWide: "M7 4h10M3 8h18v8H3zM7 20h10",
  photoFull: "M1 6h22v12H1z",
  photoLeft: "M3 5h8v8H3zM15 5h6M15 9h6M15 13h6M3 17h18M3 21h18",
  photoRight: "M13 5h8v8h-8zM3 5h6M3 9h6M3 13h6M3 17h18M3 21h18",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  undo: "M9 7 5 11l4 4M5 11h9a5 5 0 0 1 0 10h-2",
  redo: "m15 7 4 4-4 4M19 11h-9a5 5 0 0 0 0 10h2",
  source: "M3 6h18v12H3zM6.5 15V9l2.5 3 2.5-3v6M16 9v6M13.8 12.8 16 15l2.2-2.2",
  preview: "M4 5h16v14H4zM12 5v14M15 9h2M15 12h2",
  fullscreen: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  help: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M12 17h.01",
};

/**
 * @param {string} path
 */
function svg(path) {
  const image = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  setAttributes(image, {
    viewBox: "0 0 24 24",
    width: "18",
    height: "18",
    fill: "none",
    stroke: "currentColor",
    "stroke-width": "2",
    "stroke-linecap": "round",
    "stroke-linejoin": "round",
    "aria-hidden": "true",
    focusable: "false",
  });
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", path);
  image.append(line);
  return image;
}

/**
 * Create a button.
 *
 * @param {keyof typeof ICONS} icon
 * @param {string} title
 * @param {() => void} action
 * @param {string[]} [pressedIn] Names of the syntax in which the button is shown as pressed.
 */
export function button(icon, title, action, pressedIn = []) {
  const element = create(
    "button",
    { type: "button", className: `tool-${icon}`, title, ariaLabel: title },
    svg(ICONS[icon]),
  );
  // Pressing a button keeps the selection in the text.
  element.addEventListener("mousedown", (event) => event.preventDefault());
  element.addEventListener("click", action);
  if (pressedIn.length) element.dataset.pressedIn = pressedIn.join(" ");
  return element;
}

/**
 * Show which buttons apply to the syntax at the cursor.
 *
 * @param {HTMLElement} bar
 * @param {Set<string>} names
 */
export function showPressed(bar, names) {
  for (const element of /** @type {NodeListOf<HTMLElement>} */ (bar.querySelectorAll("[data-pressed-in]"))) {
    const isPressed = element.dataset.pressedIn?.split(" ").some((name) => names.has(name));
    element.setAttribute("aria-pressed", String(Boolean(isPressed)));
  }
}

/**
 * Create the toolbar. It is a single Tab stop, and the arrow keys move within it.
 *
 * @param {string} label
 * @param {HTMLElement[][]} groups
 */
export function toolbar(label, groups) {
  const buttons = groups.flat();
  const separated = groups.flatMap((group, index) => (index ? [separator(), ...group] : group));
  const bar = create("div", { className: "editor-toolbar", role: "toolbar", ariaLabel: label }, ...separated);

  /** @param {Element | null} stop */
  const stopAt = (stop) => {
    for (const one of buttons) one.tabIndex = one === stop ? 0 : -1;
  };
  stopAt(buttons[0]);
  bar.addEventListener("focusin", ({ target }) => stopAt(/** @type {Element} */ (target).closest("button")));
  bar.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    buttons[(at + step + buttons.length) % buttons.length].focus();
  });
  return bar;
}

const separator = () => create("i", { className: "separator", ariaHidden: "true" });
