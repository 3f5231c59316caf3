// @ts-check
// The present titles and pictures of the pages and photos that a text refers to.
import { fetchJson } from "./dom.js";

/**
 * @typedef {import("./chooser.js").Choice & { picture?: { path: string, width: number, height: number },
 *   alt?: string }} Target
 */

// How many milliseconds to collect references before a request is sent, and how many references it contains.
const WAIT = 50;
const MOST = 50;

export class Targets {
  /** @type {Map<string, Target | null>} Targets by reference. Null means that there is none, or that it is hidden. */
  #known = new Map();
  /** @type {Set<string>} */
  #wanted = new Set();
  #timer = 0;

  /**
   * @param {string} url
   * @param {() => void} changed Called when more targets are known.
   */
  constructor(url, changed) {
    this.url = url;
    this.changed = changed;
  }

  /**
   * Return the target of a reference such as "node:ID", or undefined until the server has responded.
   *
   * @param {string} ref
   */
  get(ref) {
    const [name] = ref.split("#");
    if (!this.#known.has(name) && !this.#wanted.has(name)) {
      this.#wanted.add(name);
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#fetch(), WAIT);
    }
    return this.#known.get(name);
  }

  async #fetch() {
    const refs = [...this.#wanted].filter((ref) => !this.#known.has(ref)).slice(0, MOST);
    if (!refs.length) return;
    try {
      const { targets } = await fetchJson(`${this.url}?${new URLSearchParams({ refs: refs.join(" ") })}`);
      for (const ref of refs) this.#known.set(ref, targets[ref] ?? null);
    } catch {
      // Without a response, references are shown as they are written. They are requested again with the next text.
      return;
    } finally {
      for (const ref of refs) this.#wanted.delete(ref);
    }
    this.changed();
    if (this.#wanted.size) this.#fetch();
  }
}
