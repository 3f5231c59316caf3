// @ts-check
// Framing a photo: a click sets the focal point, dragging or the arrow keys set the crop, and buttons rotate the photo.
// The form's fields contain the same values as numbers, and are submitted.
import { control, create, find } from "./dom.js";

/** @typedef {HTMLInputElement | null} Field */

// Fractions of the picture's size: the minimum distance of a drag (a shorter one is a click), and the step of an arrow
// key.
const [LEAST, STEP] = [0.03, 0.01];
const page = find(document, "#node_form", HTMLFormElement);

/**
 * @param {number} value
 * @param {number} least
 * @param {number} most
 */
const within = (value, least, most) => Math.min(Math.max(value, least), most);

/** @param {number} part */
const percent = (part) => String(Math.round(part * 10_000) / 100);

/**
 * Return the values in the fields, which are percentages, as fractions.
 *
 * @param {Field[]} fields
 */
const fractions = (fields) => fields.map((field) => (field?.value.trim() ? Number(field.value) / 100 : Number.NaN));

/**
 * Convert a direction in the rotated picture to the direction in the file.
 *
 * @param {number} across
 * @param {number} down
 * @param {number} rotation
 * @returns {[number, number]}
 */
function straight(across, down, rotation) {
  if (rotation === 90) return [down, -across];
  if (rotation === 180) return [-across, -down];
  if (rotation === 270) return [-down, across];
  return [across, down];
}

/**
 * Move a figure's picture onto a stage where marks can be placed.
 *
 * @param {HTMLElement} figure
 */
function makeStage(figure) {
  const image = /** @type {HTMLImageElement} */ (figure.querySelector("img"));
  const stage = create("span", { className: "photo-stage" });
  // Replace the cropped copy with the whole picture.
  if (figure.dataset.whole) figure.replaceChildren(stage);
  else image.replaceWith(stage);
  const shown = figure.dataset.whole ? create("img", { src: figure.dataset.whole, alt: image.alt }) : image;
  shown.draggable = false;
  stage.append(shown);
  return { stage, shown };
}

/**
 * Let editors frame a photo. If there are no fields for this, the photo is only shown.
 *
 * @param {HTMLElement | null} figure
 */
export function setUpFrame(figure) {
  if (!figure) return;
  const row = figure.closest(".photo-row");
  /** @param {string} name @returns {Field} */
  const field = (name) => (row ? row.querySelector(`[name$="${name}"]`) : control(page, name));
  const focal = [field("focal_0"), field("focal_1")];
  const crop = [0, 1, 2, 3].map((number) => field(`crop_${number}`));
  const turned = field("rotation");
  const canCrop = crop[0] !== null;
  if (!focal[0] && !canCrop) return;

  figure.querySelector("figcaption")?.removeAttribute("hidden");
  const { stage, shown } = makeStage(figure);
  const mark = create("span", { className: "focal-mark" });
  const part = create("span", { className: "crop-part" });
  if (canCrop) {
    part.tabIndex = 0;
    part.setAttribute("role", "group");
    part.setAttribute("aria-label", figure.dataset.part || "");
    stage.append(part);
  }
  stage.append(mark);

  const rotation = () => Number(turned?.value) || 0;
  const cropped = () => {
    const parts = fractions(crop);
    return parts.every((one) => one >= 0) && parts[2] && parts[3] ? parts : [0, 0, 1, 1];
  };
  const show = () => {
    const point = fractions(focal);
    mark.hidden = !point.every((one) => one >= 0 && one <= 1);
    mark.style.left = `${point[0] * 100}%`;
    mark.style.top = `${point[1] * 100}%`;
    const [left, top, width, height] = cropped().map((one) => `${one * 100}%`);
    Object.assign(part.style, { left, top, width, height });
    const size = [shown.offsetWidth, shown.offsetHeight];
    const smaller = rotation() % 180 && size[0] && size[1] ? Math.min(...size) / Math.max(...size) : 1;
    stage.style.transform = rotation() ? `rotate(${rotation()}deg) scale(${smaller})` : "";
  };
  /**
   * @param {Field[]} fields
   * @param {number[] | null} values
   */
  const set = (fields, values) => {
    for (const [number, one] of fields.entries()) if (one) one.value = values ? percent(values[number]) : "";
    fields[0]?.dispatchEvent(new Event("input", { bubbles: true }));
    show();
  };
  /**
   * @param {number} left
   * @param {number} top
   * @param {number} width
   * @param {number} height
   */
  const setCrop = (left, top, width, height) => {
    const across = within(width, LEAST, 1);
    const down = within(height, LEAST, 1);
    set(crop, [within(left, 0, 1 - across), within(top, 0, 1 - down), across, down]);
  };
  /** @param {PointerEvent} event */
  const pointOf = (event) => {
    const box = shown.getBoundingClientRect();
    const across = (event.clientX - box.left) / box.width - 0.5;
    const down = (event.clientY - box.top) / box.height - 0.5;
    return straight(across, down, rotation()).map((one) => within(one + 0.5, 0, 1));
  };

  /** @type {number[] | null} */
  let from = null;
  let drawn = false;
  stage.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault();
    from = pointOf(event);
    drawn = false;
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    if (!from || !canCrop) return;
    const to = pointOf(event);
    const [width, height] = [Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1])];
    drawn ||= width > LEAST && height > LEAST;
    if (drawn) setCrop(Math.min(from[0], to[0]), Math.min(from[1], to[1]), width, height);
  });
  stage.addEventListener("pointerup", (event) => {
    if (from && !drawn && focal[0]) set(focal, pointOf(event));
    from = null;
  });
  stage.addEventListener("pointercancel", () => {
    from = null;
  });
  part.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };
    const way = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (!way || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const [left, top, width, height] = cropped();
    if (event.shiftKey) {
      const [wider, higher] = rotation() % 180 ? [way[1], way[0]] : way;
      setCrop(left, top, Math.min(width + wider, 1 - left), Math.min(height + higher, 1 - top));
    } else {
      const [across, down] = straight(way[0], way[1], rotation());
      setCrop(left + across, top + down, width, height);
    }
  });
  const buttons = row ? null : find(document, ".photo-turns", HTMLElement);
  if (buttons && canCrop) {
    buttons.hidden = false;
    buttons.addEventListener("click", ({ target }) => {
      const by = /** @type {HTMLElement} */ (target).closest("[data-turn]")?.getAttribute("data-turn");
      if (by === "0") set(crop, null);
      else if (by && turned) {
        turned.value = String((rotation() + Number(by)) % 360 || "");
        turned.dispatchEvent(new Event("input", { bubbles: true }));
      }
      show();
    });
  }
  for (const one of [...focal, ...crop, turned]) one?.addEventListener("input", show);
  shown.addEventListener("load", show);
  show();
}

for (const figure of document.querySelectorAll(".photo-preview[data-whole], .photo-row .photo-pick")) {
  setUpFrame(/** @type {HTMLElement} */ (figure));
}
