// @ts-check
// Embeds discussions in pages of other sites: <marginalia-comments>, and the numbers of comments in
// elements with the attribute data-marginalia-count.
//
// A classic script, because browsers load modules from another origin only with CORS headers. It never sends cookies. What it
// remembers is in the storage of the page's own origin.
(() => {
  const source = /** @type {HTMLScriptElement} */ (document.currentScript).src;
  const { origin: site } = new URL(source);
  const api = `${site}/api/v1/embed`;
  const styles = new URL("embed.css", source).href;
  const MAX_COUNTED = 100;

  // The fragments of permalinks in comment systems from which comments can be imported.
  const OLD_ANCHOR = /^(?:comment-\d+|c\d+|isso-\d+|(?:remark42__comment|commento|comentario)-[\w-]+)$/;

  /** Return a page's address: its URL without query and fragment, or with an id as the fragment. */
  const addressOf = (url, id = "") => {
    const address = new URL(url, location.href);
    address.hash = id;
    return address.href;
  };

  /** Return an element with attributes and children. Attributes that are null or false are left out. */
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter(Boolean));
    return element;
  };

  const button = (text, onClick, attributes = {}) => {
    const element = make("button", { type: "button", ...attributes }, text);
    element.addEventListener("click", onClick);
    return element;
  };

  // Pages can require Trusted Types. A policy can be created only once, but a page can load the script more than once.
  /** @type {{createHTML: (html: string) => any} | undefined} */
  let policy;

  /** Return the nodes of HTML that the site has sanitized. */
  const parse = (html) => {
    policy ??= /** @type {any} */ (globalThis).trustedTypes?.createPolicy("marginalia-comments", {
      createHTML: (/** @type {string} */ sanitized) => sanitized,
    });
    return [...new DOMParser().parseFromString(policy?.createHTML(html) ?? html, "text/html").body.childNodes];
  };

  /** Return the slugs of the comments above a comment in its thread. */
  const slugsAbove = (slug) => slug.split("/").map((_part, depth, parts) => parts.slice(0, depth).join("/"));

  const fill = (text, name) => text.replace("%(name)s", name);

  // == Storage ==

  const storage = (kind) => (kind === "draft" ? sessionStorage : localStorage);

  /** Return a value from the page's storage. Browsers that block storage raise an error. */
  const recall = (kind, key) => {
    try {
      return JSON.parse(storage(kind).getItem(`marginalia ${site} ${key}`) ?? "null");
    } catch {
      return null;
    }
  };

  /** Store a value, or remove it if it is null. */
  const store = (kind, key, value) => {
    try {
      if (value === null) storage(kind).removeItem(`marginalia ${site} ${key}`);
      else storage(kind).setItem(`marginalia ${site} ${key}`, JSON.stringify(value));
    } catch {
      // The reader types the name again next time, and can't edit comments.
    }
  };

  // == Requests ==

  /** A request that the site has refused. */
  class Refused extends Error {
    constructor(status, problem, wait) {
      /** @type {{field: string, message: string}[]} */
      const errors = problem.errors ?? [];
      super(errors.map(({ message }) => message).join(" ") || (problem.detail ?? problem.title ?? String(status)));
      this.status = status;
      this.wait = wait;
      this.kind = problem.type ?? "";
      this.errors = errors;
    }
  }

  const send = async (
    method,
    path,
    { query = {}, body = /** @type {any} */ (null), token = "", headers = {} } = {},
  ) => {
    const own = recall("local", "own");
    const guest = recall("local", "guest-id");
    const response = await fetch(`${api}${path}?${new URLSearchParams(query)}`, {
      method,
      credentials: "omit",
      headers: {
        ...(token ? { Authorization: `Bearer ${token}` } : {}),
        ...(own ? { "Comments-Own": own } : {}),
        ...(guest ? { "Comments-Guest": guest } : {}),
        ...(body ? { "Content-Type": "application/json" } : {}),
        ...headers,
      },
      body: body && JSON.stringify(body),
    });
    if (response.status === 204) return {};
    const data = await response.json();
    if (!response.ok) throw new Refused(response.status, data, Number(response.headers.get("Retry-After")));
    return data;
  };

  const newKey = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");

  // == Discussion ==

  class MarginaliaComments extends HTMLElement {
    static observedAttributes = ["token"];

    constructor() {
      super();
      this.root = this.attachShadow({ mode: "open" });
      this.status = make("p", { role: "status", class: "status" });
      this.content = make("div", { class: "content" });
      this.cursor = "";
      /** @type {any} The last response with the discussion. */
      this.data = null;
    }

    connectedCallback() {
      if (this.data || this.root.firstChild) return;
      const sheet = make("link", { rel: "stylesheet", href: styles });
      this.content.hidden = true;
      for (const event of ["load", "error"]) sheet.addEventListener(event, () => this.begin());
      this.root.append(sheet, this.status, this.content);
      window.addEventListener("hashchange", () => this.showNamed());
    }

    attributeChangedCallback() {
      if (this.data) this.load();
    }

    get address() {
      const canonical = /** @type {HTMLLinkElement | null} */ (document.querySelector("link[rel=canonical]"));
      const url = this.getAttribute("page-url") ?? canonical?.href ?? location.origin + location.pathname;
      return addressOf(url, this.getAttribute("page-id") ?? "");
    }

    get token() {
      return this.getAttribute("token") ?? "";
    }

    set token(value) {
      this.setAttribute("token", value);
    }

    request(method, path, options = {}) {
      return send(method, path, { ...options, token: this.token });
    }

    /** Load the part of the discussion that the page's URL asks for. */
    async begin() {
      this.content.hidden = false;
      const part = /^#c-([a-z2-7]{16})$/.exec(location.hash)?.[1];
      const query = new URLSearchParams(location.search);
      this.cursor = query.get("comments") ?? (part ? `threaded.at.${part}` : "");
      const number = query.get("comment");
      const anchor = location.hash.slice(1) || (number ? `comment-${number}` : "");
      await this.load(OLD_ANCHOR.test(anchor) ? anchor : "");
      if (this.data?.shown) this.show(this.data.shown.split("/").at(-1));
      else this.showNamed();
    }

    /** Load a part of the discussion, or the part with the comment that had the permalink `anchor` before its import. */
    async load(anchor = "") {
      const query = { page: this.address, cursor: this.cursor, anchor };
      try {
        this.data = await this.request("GET", "/comments", { query });
      } catch (error) {
        if (error instanceof Refused && error.status === 401 && this.token) await this.logOut(error);
        else this.fail(error);
        return;
      }
      this.render();
    }

    /** Show the discussion without the token that the site has refused, and report the reason. */
    async logOut(error) {
      this.data = null;
      this.token = "";
      await this.load();
      this.status.append(this.data?.texts.expired ?? error.message);
      this.dispatchEvent(new CustomEvent("marginalia-login-expired", { bubbles: true }));
    }

    /** Report that the discussion can't be loaded. */
    fail(error) {
      const message = error instanceof Refused ? error.message : "Comments can't be loaded.";
      this.status.replaceChildren(
        message,
        " ",
        button("Retry", () => this.load()),
      );
    }

    /** Show a comment by the last part of its slug. Return whether it is on this page. */
    show(part) {
      const comment = this.root.getElementById(`c-${part}`);
      comment?.focus({ preventScroll: true });
      comment?.scrollIntoView({ block: "center" });
      return Boolean(comment);
    }

    showNamed() {
      const hash = location.hash.slice(1);
      if (hash.startsWith("c-")) this.show(hash.slice(2));
      else if (hash === "comments") this.scrollIntoView();
    }

    render() {
      const { texts, discussion, items, pending, previous, next } = this.data;
      this.status.replaceChildren();
      const lists = new Map();
      const list = make("ol", { class: "list" });
      const isThreaded = discussion.order === "threaded";
      // A removed comment is shown only if there are replies to it.
      const needed = new Set(
        items.filter(({ state }) => state !== "removed").flatMap(({ slug, answers }) => [answers, ...slugsAbove(slug)]),
      );
      const shown = items.filter(({ state, slug }) => state !== "removed" || needed.has(slug));
      const names = new Map([...items, ...pending].map((comment) => [comment.slug, comment.author?.name]));
      for (const comment of [...shown, ...pending]) {
        const replies = make("ol", { class: "replies" });
        const item = this.comment(comment, names);
        item.append(replies);
        lists.set(comment.slug, replies);
        const above = isThreaded || comment.state === "pending" ? lists.get(comment.parent) : null;
        (above ?? list).append(item);
      }
      const formPlace = make("div", { class: "form-place" });
      if (!discussion.open) formPlace.append(make("p", {}, texts.closed));
      else if (discussion.members_only) {
        const login = this.getAttribute("login-url");
        formPlace.append(make("p", {}, login ? make("a", { href: login }, texts.login) : texts.login));
      } else formPlace.append(this.form({}));
      const turn = (cursor, text) =>
        cursor &&
        button(text, async () => {
          this.cursor = cursor;
          await this.load();
          /** @type {HTMLElement | null} */ (this.root.querySelector("h2"))?.focus();
        });
      this.content.replaceChildren(
        make("h2", { tabindex: "-1" }, discussion.count || pending.length ? discussion.heading : texts.none),
        list,
        make("p", { class: "pages" }, turn(previous, texts.newer), turn(next, texts.older)),
        formPlace,
      );
    }

    /** Return the list item of a comment. */
    comment(comment, names) {
      const { texts, sender, discussion } = this.data;
      const part = comment.slug.split("/").at(-1);
      const isPending = comment.state === "pending";
      const item = make("li", { id: `c-${part}`, tabindex: "-1", class: `comment ${comment.state}` });
      if (comment.state === "removed") {
        item.append(make("p", { class: "meta" }, texts.removed));
        return item;
      }
      const lang = /** @type {HTMLElement | null} */ (this.closest("[lang]"))?.lang || undefined;
      const dates = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "short" });
      const time = make("time", { datetime: comment.posted }, dates.format(new Date(comment.posted)));
      const { author } = comment;
      // The indentation already shows which comment is answered.
      const isBelow = discussion.order === "threaded" && comment.answers === comment.parent;
      const meta = make(
        "p",
        { class: "meta" },
        author.picture &&
          make("img", { src: author.picture, alt: "", width: 32, height: 32, loading: "lazy", class: "picture" }),
        make("b", { dir: "auto", class: "name" }, author.name),
        author.is_moderator && make("span", { class: "badge" }, texts.moderator),
        isPending ? time : make("a", { href: comment.url, title: texts.permalink }, time),
        comment.edited && make("span", {}, texts.edited),
        comment.answers &&
          names.get(comment.answers) &&
          make(
            "span",
            { class: isBelow ? "hidden" : null, dir: "auto" },
            fill(texts.answers, names.get(comment.answers)),
          ),
      );
      const body = make("div", { class: "text", dir: "auto" }, ...parse(comment.body_html));
      const place = make("div", { class: "form-place" });
      const actions = make("p", { class: "actions" });
      const status = make("span", { role: "status", class: "error" });
      const open = (options) => {
        const form = this.form({ ...options, close: () => close() });
        const close = () => {
          place.replaceChildren();
          opener.focus();
        };
        const opener = /** @type {HTMLElement} */ (this.root.activeElement);
        place.replaceChildren(form);
        /** @type {HTMLElement} */ (form.querySelector("[name=text]")).focus();
      };
      const named = (text) => ({ "aria-label": `${text}: ${author.name}` });
      if (discussion.likes && !isPending) actions.append(this.likeButton(comment, status));
      if (comment.can_reply && this.data.discussion.open && !this.data.discussion.members_only) {
        const label = fill(texts.replyTo, author.name);
        actions.append(button(texts.reply, () => open({ parent: comment.slug, label }), { "aria-label": label }));
      }
      if (comment.can_edit) actions.append(button(texts.edit, () => open({ edited: comment }), named(texts.edit)));
      if (isPending && sender.is_moderator) {
        for (const action of ["approve", "reject"]) {
          actions.append(button(texts[action], () => this.decide(comment, action), named(texts[action])));
        }
      } else if (comment.can_delete) {
        // One request for both: moderators hide comments, and authors delete their own.
        const text = sender.is_moderator ? texts.hide : texts.delete;
        actions.append(button(text, () => this.remove_(comment), named(text)));
      }
      const note = sender.is_moderator ? texts.pendingModerator : texts.pending;
      item.append(meta, ...(isPending ? [make("p", { class: "note" }, note)] : []), body, actions, status, place);
      return item;
    }

    /** Return the button with which readers like a comment. Problems are shown in `status`. */
    likeButton(comment, status) {
      const { texts } = this.data;
      const show = () => {
        element.ariaPressed = String(comment.liked);
        element.textContent = comment.likes ? `${texts.like} ${comment.likes.toLocaleString()}` : texts.like;
        element.ariaLabel = `${element.textContent}: ${comment.author.name}`;
      };
      let isBusy = false;
      const element = button(
        "",
        async () => {
          if (isBusy) return;
          isBusy = true;
          status.replaceChildren();
          try {
            const body = { page: this.address, liked: !comment.liked };
            const { guest, ...state } = await this.request("POST", `/comments/${comment.slug}/like`, { body });
            if (!this.token) store("local", "guest-id", guest);
            Object.assign(comment, state);
            show();
          } catch (error) {
            status.append(error instanceof Refused ? error.message : texts.failed);
          }
          isBusy = false;
        },
        { class: "like" },
      );
      show();
      return element;
    }

    async remove_(comment) {
      const { sender, texts } = this.data;
      if (confirm(sender.is_moderator ? texts.hideQuestion : texts.deleteQuestion)) {
        await this.act(() =>
          this.request("DELETE", `/comments/${comment.slug}`, {
            query: { page: this.address },
            headers: { "If-Match": String(comment.rev) },
          }),
        );
      }
    }

    async decide(comment, action) {
      await this.act(() =>
        this.request("POST", `/comments/${comment.slug}/decision`, {
          body: { page: this.address, action },
          headers: { "If-Match": String(comment.rev) },
        }),
      );
    }

    /** Change a comment and load the discussion again. If the site refuses the change, show the reason. */
    async act(change) {
      let message = "";
      try {
        await change();
      } catch (error) {
        message = error instanceof Refused ? error.message : this.data.texts.failed;
      }
      await this.load();
      this.status.append(message);
      /** @type {HTMLElement | null} */ (this.root.querySelector("h2"))?.focus();
    }

    /** Return a form for a new comment, for a reply to `parent`, or for the new text of the comment `edited`. */
    form({ parent = "", label = "", edited = null, close = null }) {
      return new CommentForm(this, { parent, label, edited, close }).element;
    }
  }

  // == Form ==

  let forms = 0;
  // The name and email address that were typed last, for the next comment on this page.
  let typed = /** @type {any} */ (null);

  class CommentForm {
    constructor(discussion, { parent, label, edited, close }) {
      this.discussion = discussion;
      this.parent = parent;
      this.edited = edited;
      this.key = newKey();
      this.isBusy = false;
      this.id = `form-${++forms}`;
      this.draft = `${discussion.address} ${edited ? `edit ${edited.slug}` : parent}`;
      const { texts, sender } = discussion.data;
      const remembered = recall("local", "guest");
      this.error = make("p", { role: "alert", class: "error", id: `${this.id}-error` });
      this.preview = make("div", { class: "preview text", role: "status", dir: "auto" });
      this.text = make("textarea", { name: "text", rows: "6", dir: "auto", required: true });
      this.text.value = recall("draft", this.draft) ?? edited?.source ?? "";
      this.text.addEventListener("input", () => store("draft", this.draft, this.text.value || null));
      const isGuest = !edited && !sender.name;
      const heading = label || (edited ? texts.edit : texts.heading);
      this.element = make(
        "form",
        { class: "form", novalidate: true, "aria-label": heading },
        make("h3", {}, heading),
        !edited && !isGuest && make("p", {}, fill(texts.commentingAs, sender.name)),
        ...(isGuest ? this.guestFields(texts, remembered ?? typed) : []),
        this.field("text", texts.comment, this.text),
        isGuest && this.choice("remember", texts.remember, Boolean(remembered)),
        isGuest && this.choice("notify", texts.notify, false),
        this.error,
        this.preview,
        make(
          "p",
          { class: "actions" },
          make("button", { type: "submit", class: "primary" }, edited ? texts.save : texts.post),
          button(texts.preview, () => this.run(() => this.showPreview())),
          close && button(texts.cancel, () => this.cancel(close)),
        ),
      );
      this.element.addEventListener("submit", (event) => {
        event.preventDefault();
        this.run(() => (edited ? this.save() : this.post()));
      });
    }

    guestFields(texts, guest) {
      const name = make("input", { name: "name", autocomplete: "name", dir: "auto", required: true });
      const email = make("input", { name: "email", type: "email", autocomplete: "email" });
      name.value = guest?.name ?? "";
      email.value = guest?.email ?? "";
      return [this.field("name", texts.name, name), this.field("email", texts.email, email, texts.emailHelp)];
    }

    field(name, label, input, help = "") {
      const id = `${this.id}-${name}`;
      input.id = id;
      input.setAttribute("aria-describedby", help ? `${id}-problem ${id}-help` : `${id}-problem`);
      return make(
        "p",
        {},
        make("label", { for: id }, label),
        input,
        make("span", { id: `${id}-problem`, class: "error problem" }),
        help && make("small", { id: `${id}-help` }, help),
      );
    }

    choice(name, label, isChecked) {
      return make(
        "p",
        {},
        make("label", {}, make("input", { type: "checkbox", name, checked: isChecked }), " ", label),
      );
    }

    value(name) {
      const input = /** @type {HTMLInputElement | null} */ (this.element.querySelector(`[name=${name}]`));
      return input?.type === "checkbox" ? input.checked : (input?.value ?? "");
    }

    cancel(close) {
      store("draft", this.draft, null);
      close();
    }

    /** Run a request of this form, one at a time. If it fails, show the reason and keep the text. */
    async run(work) {
      if (this.isBusy) return;
      this.isBusy = true;
      this.error.replaceChildren();
      for (const input of this.element.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
      for (const problem of this.element.querySelectorAll(".problem")) problem.replaceChildren();
      try {
        await work();
      } catch (error) {
        this.report(error);
      }
      this.isBusy = false;
    }

    report(error) {
      const { texts } = this.discussion.data;
      const errors = error instanceof Refused ? error.errors : [];
      const inputs = /** @type {HTMLElement[]} */ ([]);
      for (const { field, message } of errors) {
        const input = this.element.querySelector(`[name="${CSS.escape(String(field.split(".").at(-1)))}"]`);
        const place = this.element.querySelector(`[id="${input?.id}-problem"]`) ?? this.error;
        place.append(message, " ");
        if (!input) continue;
        input.setAttribute("aria-invalid", "true");
        inputs.push(input);
      }
      if (!errors.length) this.error.append(error instanceof Refused ? error.message : texts.failed);
      // A comment was already posted with this key. This is another one.
      if (error.kind?.endsWith("#key-reused")) this.key = newKey();
      inputs[0]?.focus();
    }

    async showPreview() {
      const { body_html } = await this.discussion.request("POST", "/preview", { body: { text: this.text.value } });
      this.preview.replaceChildren(...parse(body_html));
    }

    /** Send a new comment. While the site is too busy to store it, say so, wait, and send it again. */
    async sendWhenFree(options) {
      for (;;) {
        try {
          return await this.discussion.request("POST", "/comments", options);
        } catch (error) {
          if (!(error instanceof Refused) || error.status !== 503) throw error;
          if (!error.wait || !this.element.isConnected) throw error;
          this.error.replaceChildren(this.discussion.data.texts.busy);
          // The pauses differ, so that people who were refused together don't come back together.
          await new Promise((resolve) => setTimeout(resolve, 1_000 * error.wait * (1 + Math.random())));
          this.error.replaceChildren();
        }
      }
    }

    async post() {
      const { comment, own } = await this.sendWhenFree({
        body: {
          page: this.discussion.address,
          title: this.discussion.getAttribute("page-title") ?? document.title,
          parent: this.parent || null,
          text: this.text.value,
          name: this.value("name"),
          email: this.value("email"),
          notify: Boolean(this.value("notify")),
        },
        headers: { "Idempotency-Key": this.key },
      });
      store("local", "own", own);
      const guest = { name: this.value("name"), email: this.value("email") };
      if (guest.name) {
        typed = guest;
        store("local", "guest", this.value("remember") ? guest : null);
      }
      await this.finish(comment);
    }

    async save() {
      const { comment } = await this.discussion.request("PATCH", `/comments/${this.edited.slug}`, {
        body: { page: this.discussion.address, text: this.text.value },
        headers: { "If-Match": String(this.edited.rev) },
      });
      await this.finish(comment);
    }

    /** Show the stored comment. If it isn't on the current page of the discussion, load the page that contains it. */
    async finish(comment) {
      const { discussion } = this;
      const part = comment.slug.split("/").at(-1);
      store("draft", this.draft, null);
      await discussion.load();
      if (!discussion.show(part)) {
        discussion.cursor = `threaded.at.${comment.slug}`;
        await discussion.load();
        discussion.show(part);
      }
      const { texts } = discussion.data;
      discussion.status.append(comment.state === "pending" ? texts.pending : texts.posted);
    }
  }

  // == Counts ==

  const showCounts = async () => {
    /** @type {Map<string, HTMLElement[]>} */
    const places = new Map();
    for (const place of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-marginalia-count]"))) {
      const address = new URL(place.dataset.marginaliaCount ?? "", location.href).href;
      places.set(address, [...(places.get(address) ?? []), place]);
    }
    const addresses = [...places.keys()];
    for (let first = 0; first < addresses.length; first += MAX_COUNTED) {
      const query = new URLSearchParams(addresses.slice(first, first + MAX_COUNTED).map((page) => ["page", page]));
      const response = await fetch(`${api}/counts?${query}`, { credentials: "omit" }).catch(() => null);
      // Without an answer, the places keep their content.
      if (!response?.ok) continue;
      for (const { page, count } of (await response.json()).items) {
        for (const place of places.get(page) ?? [])
          place.textContent = count.toLocaleString(document.documentElement.lang || undefined);
      }
    }
  };

  // A page can load the script more than once, for example when a theme replaces only the content of a page.
  if (!customElements.get("marginalia-comments")) customElements.define("marginalia-comments", MarginaliaComments);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", showCounts);
  else showCounts();
})();
