// @ts-check
// Reads and writes directives such as `::gallery{section=node:… count=6}`, in the same way as
// marginalia/markup/directives.py.

const DIRECTIVE = /^:{2,}[ \t]*([a-z][a-z0-9-]{0,39})[ \t]*(?:\{(.*)\})?[ \t]*$/;
const ATTRIBUTE = /[ \t]*([a-z][a-z0-9_-]{0,39})=("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s"'{}]+)(?=[ \t]|$)/y;

/**
 * Return the name and the attributes of a directive, or null if it can't be read.
 *
 * @param {string} spelled
 * @returns {{ name: string, attributes: Record<string, string> } | null}
 */
export function parseDirective(spelled) {
  const found = DIRECTIVE.exec(spelled);
  if (!found) return null;
  const rest = (found[2] ?? "").trimEnd();
  /** @type {Record<string, string>} */
  const attributes = {};
  for (let at = 0; at < rest.length; at = ATTRIBUTE.lastIndex) {
    ATTRIBUTE.lastIndex = at;
    const pair = ATTRIBUTE.exec(rest);
    if (!pair || pair[1] in attributes) return null;
    const [, name, value] = pair;
    attributes[name] = /^["']/.test(value) ? value.slice(1, -1).replace(/\\(.)/g, "$1") : value;
  }
  return { name: found[1], attributes };
}

/**
 * Return a directive without its colons. Attributes without a value are left out.
 *
 * @param {string} name
 * @param {Record<string, string>} attributes
 */
export function formatDirective(name, attributes) {
  const pairs = Object.entries(attributes).filter(([, value]) => value);
  return name + (pairs.length ? `{${pairs.map(([key, value]) => `${key}=${quoted(value)}`).join(" ")}}` : "");
}

/**
 * Quote the value of an attribute.
 *
 * @param {string} value
 */
const quoted = (value) => (/^[^\s"'{}\\]+$/.test(value) ? value : `"${value.replace(/[\\"]/g, "\\$&")}"`);
