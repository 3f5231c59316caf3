// Completes tags while they are typed. Offers tags in use that begin with, or contain, the text between two commas.
(() => {
  "use strict";
  const SOURCE = document.querySelector("[data-tags]")?.dataset.tags;
  if (!SOURCE) return;

  const complete = (input) => {
    const list = document.createElement("ul");
    list.id = `${input.id}-tags`;
    list.className = "tag-list";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", input.labels?.[0]?.textContent.replace(/:\s*$/, "") || input.name);
    list.hidden = true;
    const box = document.createElement("div");
    box.className = "tag-box";
    input.before(box);
    box.append(input, list);
    input.autocomplete = "off";
    for (const [name, value] of Object.entries({
      role: "combobox",
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": list.id,
    })) {
      input.setAttribute(name, value);
    }
    let asked = 0;
    let timer = 0;
    let at = -1;

    // The typed tag, from the comma before the cursor to the comma after it.
    const part = () => {
      const start = input.value.lastIndexOf(",", input.selectionStart - 1) + 1;
      const comma = input.value.indexOf(",", input.selectionStart);
      return { start, end: comma < 0 ? input.value.length : comma };
    };
    const close = () => {
      asked += 1;
      clearTimeout(timer);
      list.hidden = true;
      at = -1;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    };
    const mark = (number) => {
      at = number;
      for (const [index, item] of [...list.children].entries())
        item.setAttribute("aria-selected", String(index === at));
      if (at < 0) input.removeAttribute("aria-activedescendant");
      else {
        input.setAttribute("aria-activedescendant", list.children[at].id);
        list.children[at].scrollIntoView({ block: "nearest" });
      }
    };
    const take = (tag) => {
      const { start, end } = part();
      const before = input.value.slice(0, start);
      const after = input.value.slice(end).replace(/^,\s*/, "");
      const head = `${before}${before ? " " : ""}${tag}, `;
      input.value = head + after;
      input.setSelectionRange(head.length, head.length);
      close();
      input.dispatchEvent(new Event("change", { bubbles: true }));
    };
    const show = async () => {
      const number = ++asked;
      const { start, end } = part();
      const typed = input.value.slice(start, end).trim();
      if (!typed) return close();
      try {
        const answer = await fetch(`${SOURCE}?${new URLSearchParams({ q: typed })}`, {
          headers: { Accept: "application/json" },
        });
        if (!answer.ok || number !== asked) return undefined;
        const given = input.value.split(",").map((tag) => tag.trim().toLowerCase());
        const tags = (await answer.json()).tags.filter((tag) => !given.includes(tag.toLowerCase()));
        if (number !== asked) return undefined;
        list.replaceChildren(
          ...tags.map((tag, index) => {
            const item = document.createElement("li");
            item.id = `${list.id}-${index}`;
            item.setAttribute("role", "option");
            item.setAttribute("aria-selected", "false");
            item.textContent = tag;
            item.addEventListener("pointerdown", (event) => {
              event.preventDefault();
              take(tag);
            });
            return item;
          }),
        );
        if (!tags.length) return close();
        list.hidden = false;
        at = -1;
        input.setAttribute("aria-expanded", "true");
        input.removeAttribute("aria-activedescendant");
      } catch {
        close(); // The editor can type the rest of the tag.
      }
      return undefined;
    };

    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(show, 150);
    });
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
      if (list.hidden) {
        if (event.key === "ArrowDown" && !event.altKey) show();
        return;
      }
      const last = list.children.length - 1;
      if (event.key === "ArrowDown") mark(at === last ? 0 : at + 1);
      else if (event.key === "ArrowUp") mark(at <= 0 ? last : at - 1);
      else if (event.key === "Enter" && at >= 0) take(list.children[at].textContent);
      else if (event.key === "Escape") close();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  };

  document.querySelectorAll("input[name=tags]").forEach(complete);
})();
