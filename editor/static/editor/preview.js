// @ts-check
// The preview next to a form. It shows a page as readers will see it, in a frame without scripts.
import { create } from "./dom.js";
import { recall, remember } from "./storage.js";

// How many milliseconds typing must pause before the server renders the preview again.
const WAIT = 400;
const KEY = "marginalia-beside";

/** Return whether to open the preview with the form. By default, it opens if the window is wide. */
export function isPreviewWanted() {
  const stored = recall(KEY);
  if (stored !== null) return stored === "1";
  return window.matchMedia("(min-width: 1400px)").matches;
}

/** @param {boolean} isOpen */
export function rememberPreview(isOpen) {
  remember(KEY, isOpen ? "1" : "0");
}

/** @param {Document} page */
const styleSheets = (page) =>
  String([...page.querySelectorAll("link[rel=stylesheet]")].map((link) => link.getAttribute("href")));

/**
 * Show a page in the pane, and keep the scroll position.
 *
 * @param {HTMLElement} pane
 * @param {string} html
 * @param {string} title
 */
function show(pane, html, title) {
  const page = new DOMParser().parseFromString(html, "text/html");
  for (const needless of page.querySelectorAll("script, .theme-switch")) needless.remove();
  for (const link of page.querySelectorAll("a[href]:not([href^='#'])")) link.setAttribute("target", "_blank");
  page.documentElement.dataset.theme = document.documentElement.dataset.theme || "auto";
  const shown = pane.querySelector("iframe")?.contentDocument;
  const { scrollX = 0, scrollY = 0 } = shown?.defaultView ?? {};
  /** @param {Window | null | undefined} view */
  const scroll = (view) => view?.scrollTo({ left: scrollX, top: scrollY, behavior: "instant" });
  if (shown?.querySelector("main") && styleSheets(shown) === styleSheets(page)) {
    shown.body.replaceWith(shown.adoptNode(page.body));
    scroll(shown.defaultView);
    return;
  }
  const frame = create("iframe", { title });
  frame.setAttribute("sandbox", "allow-same-origin allow-popups allow-popups-to-escape-sandbox");
  frame.srcdoc = `<!doctype html>${page.documentElement.outerHTML}`;
  // The old frame remains visible until the new frame has loaded its style sheets.
  frame.addEventListener("load", () => {
    scroll(frame.contentWindow);
    while (frame.previousSibling) frame.previousSibling.remove();
  });
  pane.append(frame);
}

/** Renders the preview on the server. Only one request runs at a time, and the last response is shown. */
export class Preview {
  /** @type {string | null} The data that was sent last. */
  #sent = null;
  #timer = 0;
  /** @type {AbortController | null} */
  #request = null;

  /**
   * @param {{ show: string, shown: string, failed: string }} words `show` is the URL that renders a form.
   * @param {HTMLFormElement} form
   * @param {(answer: any) => void} receive Receives the rest of each response.
   */
  constructor(words, form, receive) {
    this.words = words;
    this.form = form;
    this.receive = receive;
  }

  /** Forget the data that was sent last, because the pane is new. */
  reset() {
    this.#sent = null;
  }

  /** @param {HTMLElement} pane */
  render(pane) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        const body = this.#typed();
        if (String(body) === this.#sent) return;
        this.#sent = String(body);
        this.#send(body, pane);
      },
      pane.firstChild ? WAIT : 0,
    );
  }

  #typed() {
    const fields = [...new FormData(this.form)].filter(([, value]) => typeof value === "string");
    return new URLSearchParams(/** @type {[string, string][]} */ (fields));
  }

  /**
   * @param {URLSearchParams} body
   * @param {HTMLElement} pane
   */
  async #send(body, pane) {
    this.#request?.abort();
    this.#request = new AbortController();
    const { signal } = this.#request;
    try {
      const headers = { Accept: "application/json" };
      const answer = await fetch(this.words.show, { method: "POST", body, headers, signal });
      if (!answer.ok) throw new Error(String(answer.status));
      const { html, ...rest } = await answer.json();
      show(pane, html, this.words.shown);
      this.receive(rest);
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") return;
      this.#sent = null;
      pane.replaceChildren(create("p", { textContent: this.words.failed }));
    }
  }
}
