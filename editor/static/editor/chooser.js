// Inputs that complete titles of pages, photos and tags: in fields, and in the link dialog.
// A field receives the address, a dialog the event "chosen". Without this script, editors type the address.
(() => {
  "use strict";
  const words = document.getElementById("chooser")?.dataset;
  if (!words) return;
  const WAIT = 150;

  const make = (name, text, className = "") => {
    const element = document.createElement(name);
    element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  const described = (choice) => {
    const parts = [
      make("strong", choice.title),
      make("small", [choice.kind, choice.path, choice.note].filter(Boolean).join(" · ")),
    ];
    if (!choice.thumbnail) return parts;
    const image = make("img", "");
    image.src = choice.thumbnail;
    image.alt = "";
    image.width = image.height = 48;
    return [image, ...parts];
  };

  // Link targets outside the site.
  const isHere = (typed) => /^(\/(?!\/)|node:|photo:)/.test(typed) || typed.startsWith(`${location.origin}/`);
  const elsewhere = (typed) => {
    if (/\s/.test(typed)) return "";
    if (/^(https?:\/\/.|mailto:.|tel:.|\/.|#.)/i.test(typed)) return typed;
    if (/^[^@/]+@[^@/]+\.[^@/]+$/.test(typed)) return `mailto:${typed}`;
    return /^[\w-]+(\.[\w-]+)*\.[a-z]{2,}([/?#]|$)/i.test(typed) ? `https://${typed}` : "";
  };
  const fetched = async (source, typed) => {
    const answer = await fetch(`${source}&${new URLSearchParams({ q: typed })}`, {
      headers: { Accept: "application/json" },
    });
    if (!answer.ok) throw new Error(answer.status);
    return (await answer.json()).choices;
  };
  const looked = async (source, typed, takesAddresses) => {
    const address = takesAddresses ? elsewhere(typed) : "";
    const own = !address || isHere(typed) || address !== typed ? await fetched(source, typed) : [];
    return address && !(isHere(typed) && own.length)
      ? [...own, { ref: address, address, title: address, kind: words.link }]
      : own;
  };

  const enhance = (input) => {
    const isOpen = "open" in input.dataset;
    const list = make("ul", "", "chooser-list");
    const told = make("span", "", "chooser-told");
    const box = input.closest(".chooser");
    const [card, clear] = [box.querySelector(".chosen"), box.querySelector("[data-clear]")];
    let choices = [];
    let at = -1;
    let asked = 0;
    let timer = 0;
    let isPending = false;
    let isWanted = false;
    let isOurs = false;

    list.id = `${input.id}-choices`;
    list.hidden = true;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", words.choices);
    told.setAttribute("role", "status");
    box.append(told, list);
    input.removeAttribute("list");
    input.autocomplete = "off";
    input.placeholder = words.search;
    for (const [name, value] of Object.entries({
      role: "combobox",
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": list.id,
    })) {
      input.setAttribute(name, value);
    }

    const mark = (number) => {
      at = number;
      for (const [index, item] of [...list.children].entries())
        item.setAttribute("aria-selected", String(index === at));
      if (at < 0) return input.removeAttribute("aria-activedescendant");
      input.setAttribute("aria-activedescendant", list.children[at].id);
      return list.children[at].scrollIntoView({ block: "nearest" });
    };
    const fill = (found) => {
      choices = found;
      list.replaceChildren(
        ...choices.map((choice, index) => {
          const item = make("li", "");
          item.append(...described(choice));
          item.id = `${list.id}-${index}`;
          item.setAttribute("role", "option");
          item.addEventListener("pointerdown", (event) => event.preventDefault());
          item.addEventListener("click", () => take(index));
          return item;
        }),
      );
      list.hidden = !choices.length;
      input.setAttribute("aria-expanded", String(!list.hidden));
      mark(input.value.trim() && choices.length ? 0 : -1);
    };
    const close = () => {
      asked += 1;
      clearTimeout(timer);
      isPending = isWanted = false;
      told.textContent = "";
      fill([]);
    };
    const put = (choice) => {
      const value = !choice ? "" : input.dataset.as === "ref" ? choice.ref : choice.address;
      isOurs = true;
      input.value = value;
      for (const name of ["input", "change"]) input.dispatchEvent(new Event(name, { bubbles: true }));
      isOurs = false;
      show(choice);
    };
    const show = (choice) => {
      if (!card) return;
      card.replaceChildren(...(choice ? described(choice) : []));
      card.hidden = !choice;
      clear.hidden = !input.value;
    };
    const take = (index) => {
      const choice = choices[index];
      close();
      if (card) put(choice);
      input.dispatchEvent(new CustomEvent("chosen", { detail: choice }));
    };
    const look = async () => {
      const number = asked;
      const typed = input.value.trim();
      try {
        const found = await looked(input.dataset.choose, typed, "addresses" in input.dataset);
        if (number !== asked) return;
        fill(found);
        told.textContent = found.length || !typed ? "" : words.none;
      } catch {
        if (number !== asked) return;
        fill([]);
        told.textContent = words.failed;
      }
      isPending = false;
      if (isWanted && choices.length) take(0);
      isWanted = false;
    };
    const begin = (wait) => {
      clearTimeout(timer);
      // A pending response belongs to the text that was typed before.
      asked += 1;
      isPending = true;
      mark(-1);
      timer = setTimeout(look, wait);
    };

    input.addEventListener("input", () => {
      if (isOurs) return;
      show(null);
      if (input.value.trim() || isOpen) begin(WAIT);
      else close();
    });
    input.addEventListener("look", () => begin(0));
    input.addEventListener("blur", () => {
      if (!isOpen) close();
    });
    input.addEventListener("keydown", (event) => {
      const last = choices.length - 1;
      const isEnter = event.key === "Enter" && !event.isComposing;
      if (event.key === "ArrowDown" && list.hidden && !isPending) begin(0);
      else if (event.key === "ArrowDown" && last >= 0) mark(at === last ? 0 : at + 1);
      else if (event.key === "ArrowUp" && last >= 0) mark(at <= 0 ? last : at - 1);
      else if (isEnter && isPending) isWanted = true;
      else if (isEnter && at >= 0) take(at);
      else if (event.key === "Escape" && !isOpen && !list.hidden) close();
      else if (!isEnter || !isOpen) return;
      event.preventDefault();
      event.stopPropagation();
    });
    if (!card) return;
    clear.hidden = !input.value;
    // The value was changed elsewhere: by the photo picker, or by a reset of the form.
    input.addEventListener("choose", ({ detail }) => show(detail));
    input.form?.addEventListener("reset", () => setTimeout(() => show(null)));
    clear.addEventListener("click", () => {
      put(null);
      input.focus();
    });
    // Only the server knows whether this user can see the title of a target that is not public.
    if (/^(node|photo):/.test(input.value)) {
      fetched(input.dataset.choose, input.value)
        .then(([choice]) => choice && show(choice))
        .catch(() => {});
    }
  };

  document.querySelectorAll("input[data-choose]").forEach(enhance);
  // Rows that were added later.
  document.addEventListener("focusin", ({ target }) => {
    if (target.matches("input[data-choose]:not([role])")) enhance(target);
  });
})();
