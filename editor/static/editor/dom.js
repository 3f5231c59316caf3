// @ts-check
// Helpers that are shared by several admin scripts.

/**
 * Create an element. Strings in `children` become text.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Partial<HTMLElementTagNameMap[Name]>} [properties]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function create(name, properties = {}, ...children) {
  const element = document.createElement(name);
  Object.assign(element, properties);
  element.append(...children);
  return element;
}

/**
 * Return the first element that matches the selector, or null if it isn't an instance of `type`.
 *
 * @template {Element} Type
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => Type} type
 * @returns {Type | null}
 */
export function find(root, selector, type) {
  const element = root.querySelector(selector);
  return element instanceof type ? element : null;
}

/**
 * Return the control with this name. `form.title` wouldn't work, because forms have their own properties.
 *
 * @param {HTMLFormElement | null} form
 * @param {string} name
 * @returns {any} An input, a textarea, a select or a list of radio buttons.
 */
export function control(form, name) {
  return form?.elements.namedItem(name) ?? null;
}

/**
 * Set attributes that don't have a property in every browser, such as `role`.
 *
 * @param {Element} element
 * @param {Record<string, string>} attributes
 */
export function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}

/**
 * Return the nodes of an HTML fragment that the server rendered. Scripts in the fragment don't run.
 *
 * @param {string} html
 */
export function parseFragment(html) {
  return [...new DOMParser().parseFromString(html, "text/html").body.childNodes];
}

/**
 * Parse HTML from the clipboard. Its scripts don't run, and its pictures aren't loaded.
 *
 * The attribute `style` is renamed to `data-style`, because the site's CSP would report each inline style.
 *
 * @param {string} html
 */
export function parseClipboard(html) {
  const inert = html
    .replace(/<(\/?)style\b/gi, "<$1template")
    .replace(/<[a-z][^<>]*>/gi, (tag) => tag.replace(/(\s|["'])(style|on[a-z]+)(?=\s*=)/gi, "$1 data-$2"));
  return new DOMParser().parseFromString(inert, "text/html");
}

/**
 * Fetch JSON from the server. If the response has an error status, throw an exception.
 *
 * @param {string} url
 * @param {RequestInit} [options]
 */
export async function fetchJson(url, options = {}) {
  const answer = await fetch(url, { ...options, headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`${answer.status} ${url}`);
  return answer.json();
}

/** @param {DataTransfer | null} transfer */
export const containsFiles = (transfer) => Boolean(transfer?.types.includes("Files"));

/** @param {DataTransfer | null} transfer */
export const pictureFiles = (transfer) => [...(transfer?.files ?? [])].filter(({ type }) => type.startsWith("image/"));
