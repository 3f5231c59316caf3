// @ts-check
// Choices that the browser remembers for the next form.

/**
 * Return a remembered choice, or null if there is none.
 *
 * @param {string} key
 */
export function recall(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // The browser forbids storage.
  }
}

/**
 * @param {string} key
 * @param {string} value
 */
export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // The browser forbids storage. The next form begins with the defaults.
  }
}
