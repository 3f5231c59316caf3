// The frame of a photo: a click sets the focal point, dragging or arrow keys set the crop, and buttons turn the photo.
// The form sends the fields, which contain the same values as numbers.
(() => {
  "use strict";
  const page = document.getElementById("node_form");
  // Fractions of the picture: the minimum distance of a drag, below which it is a click, and the step of an arrow key.
  const [LEAST, STEP] = [0.03, 0.01];
  const within = (value, least, most) => Math.min(Math.max(value, least), most);
  const percent = (part) => String(Math.round(part * 10_000) / 100);
  // Converts directions and points of the turned picture to those of the file.
  const straight = (across, down, rotation) =>
    ({ 90: [down, -across], 180: [-across, -down], 270: [-down, across] })[rotation] || [across, down];

  const setUp = (figure) => {
    const row = figure.closest(".photo-row");
    const field = (name) => (row ? row.querySelector(`[name$="${name}"]`) : page?.elements.namedItem(name));
    const focal = [field("focal_0"), field("focal_1")];
    const crop = [0, 1, 2, 3].map((number) => field(`crop_${number}`));
    const turned = field("rotation");
    if (!focal[0] && !crop[0]) return;
    figure.querySelector("figcaption")?.removeAttribute("hidden");
    const image = figure.querySelector("img");
    const stage = document.createElement("span");
    stage.className = "photo-stage";
    if (figure.dataset.whole) {
      const whole = document.createElement("img");
      whole.src = figure.dataset.whole;
      whole.alt = image.alt;
      figure.replaceChildren(stage);
      stage.append(whole);
    } else {
      image.replaceWith(stage);
      stage.append(image);
    }
    const shown = stage.firstChild;
    shown.draggable = false;
    const mark = document.createElement("span");
    mark.className = "focal-mark";
    const part = document.createElement("span");
    part.className = "crop-part";
    if (crop[0]) {
      part.tabIndex = 0;
      part.setAttribute("role", "group");
      part.setAttribute("aria-label", figure.dataset.part || "");
      stage.append(part);
    }
    stage.append(mark);

    const rotation = () => Number(turned?.value) || 0;
    const said = (fields) => fields.map((one) => (one?.value.trim() ? Number(one.value) / 100 : NaN));
    const cropped = () => {
      const parts = said(crop);
      return parts.every((one) => one >= 0) && parts[2] && parts[3] ? parts : [0, 0, 1, 1];
    };
    const show = () => {
      const point = said(focal);
      mark.hidden = !point.every((one) => one >= 0 && one <= 1);
      mark.style.left = `${point[0] * 100}%`;
      mark.style.top = `${point[1] * 100}%`;
      const [left, top, width, height] = cropped().map((one) => `${one * 100}%`);
      Object.assign(part.style, { left, top, width, height });
      const size = [shown.offsetWidth, shown.offsetHeight];
      const smaller = rotation() % 180 && size[0] && size[1] ? Math.min(...size) / Math.max(...size) : 1;
      stage.style.transform = rotation() ? `rotate(${rotation()}deg) scale(${smaller})` : "";
    };
    const set = (fields, values) => {
      fields.forEach((one, number) => {
        one.value = values ? percent(values[number]) : "";
      });
      fields[0].dispatchEvent(new Event("input", { bubbles: true }));
      show();
    };
    const cut = (left, top, width, height) => {
      const across = within(width, LEAST, 1);
      const down = within(height, LEAST, 1);
      set(crop, [within(left, 0, 1 - across), within(top, 0, 1 - down), across, down]);
    };
    const point = (event) => {
      const box = shown.getBoundingClientRect();
      const across = (event.clientX - box.left) / box.width - 0.5;
      const down = (event.clientY - box.top) / box.height - 0.5;
      return straight(across, down, rotation()).map((one) => within(one + 0.5, 0, 1));
    };

    let from = null;
    let drawn = false;
    stage.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      event.preventDefault();
      from = point(event);
      drawn = false;
      stage.setPointerCapture(event.pointerId);
    });
    stage.addEventListener("pointermove", (event) => {
      if (!from || !crop[0]) return;
      const to = point(event);
      drawn ||= Math.abs(to[0] - from[0]) > LEAST && Math.abs(to[1] - from[1]) > LEAST;
      if (!drawn) return;
      const [left, top] = [Math.min(from[0], to[0]), Math.min(from[1], to[1])];
      cut(left, top, Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1]));
    });
    stage.addEventListener("pointerup", (event) => {
      if (from && !drawn && focal[0]) set(focal, point(event));
      from = null;
    });
    stage.addEventListener("pointercancel", () => {
      from = null;
    });
    part.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }[
        event.key
      ];
      if (!way || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const [left, top, width, height] = cropped();
      if (event.shiftKey) {
        const [wider, higher] = rotation() % 180 ? [way[1], way[0]] : way;
        cut(left, top, Math.min(width + wider, 1 - left), Math.min(height + higher, 1 - top));
      } else {
        const [across, down] = straight(...way, rotation());
        cut(left + across, top + down, width, height);
      }
    });
    const buttons = row ? null : document.querySelector(".photo-turns");
    if (buttons && crop[0]) {
      buttons.hidden = false;
      buttons.addEventListener("click", (event) => {
        const by = event.target.closest("[data-turn]")?.dataset.turn;
        if (by === "0") set(crop, null);
        else if (by) {
          turned.value = String((rotation() + Number(by)) % 360 || "");
          turned.dispatchEvent(new Event("input", { bubbles: true }));
        }
        show();
      });
    }
    for (const one of [...focal, ...crop, turned]) one?.addEventListener("input", show);
    shown.addEventListener("load", show);
    show();
  };

  for (const figure of document.querySelectorAll(".photo-preview[data-whole], .photo-row .photo-pick")) setUp(figure);
  // A row that a script has inserted.
  document.addEventListener("photo-row", (event) => {
    const figure = event.target.querySelector(".photo-pick");
    if (figure) setUp(figure);
  });
})();
