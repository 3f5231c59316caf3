// Enhances comments. Without this script, every link and form opens a separate page.
(() => {
  "use strict";

  const fetched = async (url) => {
    const response = await fetch(url);
    if (!response.ok) throw new Error(String(response.status));
    return new DOMParser().parseFromString(await response.text(), "text/html");
  };

  const show = (place) => {
    place.focus({ preventScroll: true });
    place.scrollIntoView();
  };

  // Replace the date of each comment with how long ago it was posted.
  const tellTimes = (place) => {
    const words = new Intl.RelativeTimeFormat(document.documentElement.lang);
    for (const time of place.querySelectorAll(".comment-permalink time")) {
      let [n, unit] = [(Date.now() - Date.parse(time.dateTime)) / 6e4, "minute"];
      for (const [longer, many] of Object.entries({ hour: 60, day: 24, month: 30, year: 12 })) {
        if (n < many) break;
        [n, unit] = [n / many, longer];
      }
      time.textContent = words.format(-Math.max(1, Math.floor(n)), unit);
    }
  };

  // Fetch the form, which is private to one reader, because the page is cached for all readers.
  const fragment = async (url) => {
    const address = new URL(url, location.href);
    address.searchParams.set("fragment", "1");
    return document.adoptNode((await fetched(address)).querySelector("[data-comments-fragment]"));
  };

  const fill = async (place) => {
    try {
      const form = await fragment(place.dataset.commentsForm);
      place.replaceChildren(form);
      for (const own of form.querySelectorAll("[data-comments-own]")) {
        const actions = document.querySelector(`#${own.dataset.commentsOwn} .comment-actions`);
        if (actions) {
          for (const link of own.querySelectorAll("a")) actions.append(" ", link);
          actions.closest(".comment").classList.add("comment-own");
          own.remove();
        }
      }
      // Show a waiting comment below the comment that it replies to.
      for (const waiting of form.querySelectorAll("[data-comments-below]")) {
        document.getElementById(waiting.dataset.commentsBelow)?.append(waiting);
        if (location.hash === `#${waiting.id}`) show(waiting);
      }
    } catch {
      // Keep the link to the page with the form.
    }
  };

  const typed = (place) => [...place.querySelectorAll("textarea")].find(({ value }) => value.trim());

  const reply = async (link) => {
    const comment = link.closest(".comment");
    const opened = () => comment.querySelector(":scope > [data-comments-fragment]");
    const open = opened();
    if (open) return typed(open) ? typed(open).focus() : open.remove();
    try {
      const form = await fragment(link.href);
      if (opened()) return;
      for (const own of form.querySelectorAll(".comments-own")) own.remove();
      comment.append(form);
      form.querySelectorAll("[id]").forEach((field) => {
        // The form at the end of the page has the same ids.
        const id = `${field.id}-${comment.id}`;
        for (const name of ["for", "aria-describedby"])
          form.querySelector(`[${name}="${field.id}"]`)?.setAttribute(name, id);
        field.id = id;
      });
      form.querySelector("input:not([type=hidden]), textarea")?.focus();
    } catch {
      location.href = link.href;
    }
  };

  // Replace the list with another page or order, without loading the whole page.
  const bare = (url) => url.split("#")[0];
  let shown = bare(location.href);
  const turn = async (url, push) => {
    const old = document.querySelector("[data-comments]");
    if (shown === bare(url)) return;
    shown = bare(url);
    try {
      old.ariaBusy = "true";
      const page = await fetched(url);
      if (shown !== bare(url)) return;
      const list = page.querySelector("[data-comments]");
      near.observe(list);
      old.replaceWith(document.adoptNode(list));
      if (push) {
        history.replaceState({ comments: true }, "");
        history.pushState({ comments: true }, "", url);
      }
      list.tabIndex = -1;
      show(list);
      reveal(true);
    } catch {
      if (shown === bare(url)) location.href = url;
    }
  };

  // Unfold the comment that the URL fragment refers to. Don't scroll if it was already visible.
  const reveal = (isNew) => {
    const named = document.getElementById(location.hash.slice(1));
    let moved = isNew === true;
    let fold = named?.parentElement.closest("details:not([open])");
    while (fold) {
      fold.open = true;
      moved = true;
      fold = fold.parentElement.closest("details:not([open])");
    }
    if (moved && named?.classList.contains("comment")) named.scrollIntoView();
  };

  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
      return;
    const link = event.target.closest?.("a[href]");
    if (!link) return;
    if (link.dataset.commentsReply) {
      event.preventDefault();
      reply(link);
    } else if (link.classList.contains("comment-parent")) {
      history.replaceState({ ...history.state, commentsFrom: link.closest(".comment").id, commentsAt: scrollY }, "");
      // Browsers add no history entry for a link to the current URL.
      const named = link.href === location.href && document.getElementById(link.hash.slice(1));
      if (!named) return;
      event.preventDefault();
      history.pushState(null, "", link.href);
      show(named);
    } else if (link.closest(".comments-pager, .comments-orders") && link.closest("[data-comments]") && !link.type) {
      event.preventDefault();
      const list = document.querySelector("[data-comments]");
      const asked = list.dataset.commentsTyped;
      if (!asked || !typed(list) || confirm(asked)) turn(link.href, true);
    }
  });

  // Ignore a second submit, whose response would replace the first. Allow it again after 5 seconds, if the first one failed.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.classList?.contains("comment-form")) return;
    if (form.dataset.sent) event.preventDefault();
    else setTimeout(free, 5_000);
    form.dataset.sent = "1";
  });
  const free = () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  };
  addEventListener("pageshow", free);
  addEventListener("popstate", ({ state }) => {
    if (bare(location.href) !== shown) {
      if (state?.comments) turn(location.href, false);
    } else {
      // Restore focus and position after the browser has scrolled.
      const left = document.getElementById(state?.commentsFrom)?.querySelector(".comment-parent");
      if (left)
        requestAnimationFrame(() => {
          left.focus();
          scrollTo({ top: state.commentsAt, behavior: "instant" });
        });
    }
  });
  addEventListener("hashchange", reveal);
  document.querySelectorAll("[data-comments-form]").forEach(fill);
  // Format times only when the list becomes visible, because loading their words is slow.
  const near = new IntersectionObserver(([{ isIntersecting, target }]) => isIntersecting && tellTimes(target));
  for (const list of document.querySelectorAll(".comments")) near.observe(list);
  reveal();
})();
