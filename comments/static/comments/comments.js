// @ts-check
// Enhances comments. Without this script, every link and form opens a separate page.
//
// A classic script in one file: a project that uses the app may serve static files from another origin without CORS headers, from
// which browsers load no modules, and its storage may not rewrite the imports of a module.
(() => {
  const fetchPage = async (url) => {
    const response = await fetch(url);
    if (!response.ok) throw new Error(String(response.status));
    return new DOMParser().parseFromString(await response.text(), "text/html");
  };

  /** @returns {NodeListOf<HTMLElement>} */
  const all = (place, selector) => place.querySelectorAll(selector);

  /** @returns {HTMLElement | null} */
  const findList = (page = document) => page.querySelector("[data-comments]");

  /** Return the element that the URL fragment refers to. */
  const findNamed = (hash = location.hash) => document.getElementById(hash.slice(1));

  const show = (place) => {
    place.focus({ preventScroll: true });
    place.scrollIntoView();
  };

  // The fragments of permalinks in comment systems from which comments can be imported.
  const OLD_ANCHOR = /^(?:comment-\d+|c\d+|isso-\d+|(?:remark42__comment|commento|comentario)-[\w-]+)$/;

  /** Go to the comment that an old permalink refers to. Only the server knows its new place. */
  const followOld = () => {
    const old = findList()?.dataset.commentsOld;
    const number = new URLSearchParams(location.search).get("comment");
    const anchor = location.hash.slice(1) || (number ? `comment-${number}` : "");
    if (old && OLD_ANCHOR.test(anchor) && !findNamed(`#${anchor}`)) {
      location.replace(`${old}?anchor=${encodeURIComponent(anchor)}`);
    }
  };

  /** Replace the date of each comment with how long ago it was posted. */
  const tellTimes = (place) => {
    const words = new Intl.RelativeTimeFormat(document.documentElement.lang);
    /** @type {[Intl.RelativeTimeFormatUnit, number][]} Each unit, and how many of the one before make one. */
    const longer = [
      ["hour", 60],
      ["day", 24],
      ["month", 30],
      ["year", 12],
    ];
    for (const time of place.querySelectorAll("time")) {
      if (!time.closest(".comment-permalink")) continue;
      let n = (Date.now() - Date.parse(time.dateTime)) / 60_000;
      /** @type {Intl.RelativeTimeFormatUnit} */
      let unit = "minute";
      for (const [next, many] of longer) {
        if (n < many) break;
        [n, unit] = [n / many, next];
      }
      time.textContent = words.format(-Math.max(1, Math.floor(n)), unit);
    }
  };
  // Format times only when the list becomes visible, because loading their words is slow.
  const near = new IntersectionObserver(([{ isIntersecting, target }]) => isIntersecting && tellTimes(target));

  /** Fetch a form, which is private to one reader, because the page is cached for all readers. */
  const fetchFragment = async (url) => {
    const address = new URL(url, location.href);
    address.searchParams.set("fragment", "1");
    const fragment = (await fetchPage(address.href)).querySelector("[data-comments-fragment]");
    if (!fragment) throw new Error("no fragment");
    return /** @type {HTMLElement} */ (document.adoptNode(fragment));
  };

  // == Forms ==

  // The name and email address of a reader without an account, on this reader's device only.
  const GUEST = "comments-guest";

  /** Return what is remembered about the reader. Browsers that block storage raise an error. */
  const recall = () => {
    try {
      return JSON.parse(localStorage.getItem(GUEST) ?? "null");
    } catch {
      return null;
    }
  };

  /** Remember the reader, or forget a reader who no longer wants to be remembered. */
  const remember = (form) => {
    const choice = form.querySelector("[data-comments-remember] input");
    if (!choice) return;
    const guest = { name: form.elements.name.value, email: form.elements.email.value };
    try {
      if (choice.checked) localStorage.setItem(GUEST, JSON.stringify(guest));
      else localStorage.removeItem(GUEST);
    } catch {
      // The reader types the name again next time.
    }
  };

  /** Offer to remember the reader, and fill in what is remembered. */
  const greet = (form) => {
    const choice = form.querySelector("[data-comments-remember]");
    if (!choice) return;
    choice.hidden = false;
    const guest = recall();
    choice.querySelector("input").checked = Boolean(guest);
    for (const name of ["name", "email"]) form.elements[name].value ||= guest?.[name] ?? "";
  };

  /** Show how many characters are left when there are few, and how many are too many. */
  const countCharacters = (form) => {
    const place = form.querySelector("[data-comments-limit]");
    if (!place) return;
    const limit = Number(place.dataset.commentsLimit);
    // Forms send line breaks as two characters.
    const left = limit - [...form.elements.text.value.trim().replaceAll("\n", "\r\n")].length;
    const words = left < 0 ? place.dataset.commentsOver : place.dataset.commentsLeft;
    const text = left > limit / 10 ? "" : `${words} ${Math.abs(left).toLocaleString(document.documentElement.lang)}`;
    if (place.textContent !== text) place.textContent = text;
    place.classList.toggle("comment-warning", left < 0);
  };

  /** Report at once that emails about replies need an address. */
  const checkNotify = (form) => {
    const message = form.querySelector("[data-comments-unnotified]");
    const { notify, email } = form.elements;
    if (message) message.hidden = !notify.checked || (email.value.trim() && email.validity.valid);
  };

  const prepare = (form) => {
    greet(form);
    countCharacters(form);
  };

  document.addEventListener("input", ({ target }) => {
    const form = /** @type {Element} */ (target).closest(".comment-form");
    if (!form) return;
    countCharacters(form);
    checkNotify(form);
  });

  // == Likes ==

  // The ids of the comments that the reader likes. Pages don't contain them, because they are cached for all readers.
  const liked = new Set();

  /** Show whether the reader likes each comment in a place, or that this isn't known yet. */
  const markLiked = (place) => {
    for (const button of all(place, ".comment-like button")) {
      button.ariaPressed = String(liked.has(button.closest(".comment")?.id));
    }
  };

  /** Like a comment, or take the like back, without leaving the page. */
  const like = async (form) => {
    const button = form.querySelector("button");
    const comment = form.closest(".comment");
    if (button.ariaBusy === "true") return;
    button.ariaBusy = "true";
    try {
      const url = `${form.action}?fragment=1`;
      // The page has no CSRF token, because it is cached for all readers.
      const body = new FormData((await fetchFragment(url)).querySelector("form") ?? undefined);
      body.set("liked", liked.has(comment.id) ? "" : "1");
      const response = await fetch(url, { method: "POST", body });
      const answer = new DOMParser().parseFromString(await response.text(), "text/html");
      const state = /** @type {HTMLElement | null} */ (answer.querySelector("form[data-comments-likes]"));
      if (!state) throw new Error("no fragment");
      if (state.dataset.commentsLiked) liked.add(comment.id);
      else liked.delete(comment.id);
      form.querySelector(".comment-likes").textContent = state.dataset.commentsLikes;
      form.querySelector(".comment-error")?.remove();
      const error = answer.querySelector(".comment-error");
      if (error) form.append(document.adoptNode(error));
      markLiked(form);
      button.ariaBusy = null;
    } catch {
      form.submit();
    }
  };

  const fill = async (place) => {
    try {
      const form = await fetchFragment(place.dataset.commentsForm ?? "");
      place.replaceChildren(form);
      for (const known of all(form, "[data-comments-liked]")) {
        for (const anchor of known.dataset.commentsLiked?.split(" ") ?? []) liked.add(anchor);
      }
      markLiked(document);
      for (const filled of all(form, "form")) prepare(filled);
      for (const own of all(form, "[data-comments-own]")) {
        const actions = document.querySelector(`#${own.dataset.commentsOwn} .comment-actions`);
        if (!actions) continue;
        for (const link of own.querySelectorAll("a")) actions.append(" ", link);
        own.remove();
      }
      // Show a waiting comment below the comment that it replies to.
      for (const waiting of all(form, "[data-comments-below]")) {
        document.getElementById(waiting.dataset.commentsBelow ?? "")?.append(waiting);
        if (location.hash === `#${waiting.id}`) show(waiting);
      }
    } catch {
      // Keep the link to the page with the form.
    }
  };

  /** Return a field with text that would be lost. */
  const findTyped = (place) => [...place.querySelectorAll("textarea")].find(({ value }) => value.trim());

  /** Open the form for a reply below its comment, or close it. */
  const reply = async (link) => {
    const comment = /** @type {HTMLElement} */ (link.closest(".comment"));
    const findOpen = () => comment.querySelector(":scope > [data-comments-fragment]");
    const open = findOpen();
    if (open) {
      const typed = findTyped(open);
      if (typed) typed.focus();
      else open.remove();
      return;
    }
    try {
      const form = await fetchFragment(link.href);
      if (findOpen()) return;
      for (const own of all(form, ".comments-own")) own.remove();
      comment.append(form);
      for (const field of all(form, "[id]")) {
        // The form at the end of the page has the same ids.
        const id = `${field.id}-${comment.id}`;
        for (const name of ["for", "aria-describedby"]) {
          form.querySelector(`[${name}="${field.id}"]`)?.setAttribute(name, id);
        }
        field.id = id;
      }
      for (const filled of all(form, "form")) prepare(filled);
      all(form, "input:not([type=hidden]), textarea")[0]?.focus();
    } catch {
      location.href = link.href;
    }
  };

  /**
   * Hide a comment or undo this, without the page that asks for confirmation, and show the comment's new state.
   *
   * @param {HTMLAnchorElement} link
   */
  const decide = async (link) => {
    const comment = /** @type {HTMLElement} */ (link.closest(".comment"));
    try {
      const form = (await fetchPage(link.href)).querySelector("form [name=rev]")?.closest("form");
      if (!form) throw new Error("no form");
      const body = new FormData(form);
      const response = await fetch(link.href, { method: "POST", body });
      if (!response.ok) throw new Error(String(response.status));
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const changed = page.getElementById(comment.id);
      if (!changed) throw new Error("no comment");
      comment.replaceWith(document.adoptNode(changed));
      near.observe(changed);
      const undo = /** @type {HTMLElement | null} */ (changed.querySelector(".comment-meta [data-comments-decide]"));
      (undo ?? changed).focus();
    } catch {
      location.href = link.href;
    }
  };

  const withoutHash = (url) => url.split("#")[0];
  let shown = withoutHash(location.href);

  /**
   * Show another page or order of the comments in place.
   *
   * @param {boolean} isStep Whether the browser's history gets a step.
   */
  const turn = async (url, isStep) => {
    const old = findList();
    if (!old || shown === withoutHash(url)) return;
    shown = withoutHash(url);
    try {
      old.ariaBusy = "true";
      const list = findList(await fetchPage(url));
      if (shown !== withoutHash(url)) return;
      if (!list) throw new Error("no comments");
      near.observe(list);
      old.replaceWith(document.adoptNode(list));
      markLiked(list);
      if (isStep) {
        history.replaceState({ comments: true }, "");
        history.pushState({ comments: true }, "", url);
      }
      list.tabIndex = -1;
      show(list);
      reveal(true);
    } catch {
      if (shown === withoutHash(url)) location.href = url;
    }
  };

  /** Unfold the comment that the URL fragment refers to. Don't scroll if it was already visible. */
  const reveal = (isNew = false) => {
    const named = findNamed();
    let moved = isNew;
    /** @param {Element | null | undefined} element @returns {HTMLDetailsElement | null | undefined} */
    const findFold = (element) => element?.parentElement?.closest("details:not([open])");
    for (let fold = findFold(named); fold; fold = findFold(fold)) {
      fold.open = true;
      moved = true;
    }
    if (moved && named?.classList.contains("comment")) named.scrollIntoView();
  };

  /** Go to the comment that a comment answers. The way back leads to this link again. */
  const goToParent = (event, link) => {
    const from = link.closest(".comment")?.id;
    history.replaceState({ ...history.state, commentsFrom: from, commentsAt: scrollY }, "");
    // Browsers add no history entry for a link to the current URL.
    const named = link.href === location.href && findNamed(link.hash);
    if (!named) return;
    event.preventDefault();
    history.pushState(null, "", link.href);
    show(named);
  };

  /** Go to the form at the end of the page, if a script has loaded it. */
  const begin = (event) => {
    const form = document.querySelector("[data-comments-form] > [data-comments-fragment]");
    if (!form) return;
    event.preventDefault();
    form.scrollIntoView();
    const fields = /** @type {HTMLInputElement[]} */ ([...form.querySelectorAll("[name=name], [name=text]")]);
    fields.find(({ value }) => !value)?.focus({ preventScroll: true });
  };

  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const target = /** @type {Element} */ (event.target);
    const link = /** @type {HTMLAnchorElement | null} */ (target.closest?.("a[href]"));
    if (!link) return;
    const list = /** @type {HTMLElement | null} */ (link.closest("[data-comments]"));
    if (link.classList.contains("comments-begin")) {
      begin(event);
    } else if (link.dataset.commentsReply) {
      event.preventDefault();
      reply(link);
    } else if ("commentsDecide" in link.dataset && !findTyped(link.closest(".comment"))) {
      event.preventDefault();
      decide(link);
    } else if (link.classList.contains("comment-parent")) {
      goToParent(event, link);
    } else if (list && link.closest(".comments-pager, .comments-orders") && !link.type) {
      event.preventDefault();
      const question = list.dataset.commentsTyped;
      if (!question || !findTyped(list) || confirm(question)) turn(link.href, true);
    }
  });

  const free = () => {
    for (const form of all(document, "form[data-sent]")) delete form.dataset.sent;
  };
  // Ignore a second submit, whose response would replace the first. Allow it again after 5 seconds, if the first one failed.
  document.addEventListener("submit", (event) => {
    const form = /** @type {HTMLElement} */ (event.target);
    if (form.classList?.contains("comment-like")) {
      event.preventDefault();
      like(form);
    }
    if (!form.classList?.contains("comment-form")) return;
    remember(form);
    if (form.dataset.sent) event.preventDefault();
    else setTimeout(free, 5_000);
    form.dataset.sent = "1";
  });
  addEventListener("pageshow", free);
  addEventListener("popstate", ({ state }) => {
    if (withoutHash(location.href) !== shown) {
      if (state?.comments) turn(location.href, false);
      return;
    }
    const from = state?.commentsFrom && document.getElementById(state.commentsFrom);
    const link = from?.querySelector(".comment-parent");
    if (!link) return;
    // Restore focus and position after the browser has scrolled.
    requestAnimationFrame(() => {
      link.focus();
      scrollTo({ top: state.commentsAt, behavior: "instant" });
    });
  });
  addEventListener("hashchange", () => reveal());
  markLiked(document);
  for (const form of all(document, ".comment-form")) prepare(form);
  for (const place of all(document, "[data-comments-form]")) fill(place);
  for (const list of all(document, ".comments")) near.observe(list);
  reveal();
  followOld();
})();
