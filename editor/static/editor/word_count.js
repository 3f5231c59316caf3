// @ts-check
// Shows the number of words and the reading time in minutes.

const WORDS_PER_MINUTE = 220;

/** @param {string} text */
function countWords(text) {
  if (!Intl.Segmenter) return text.split(/\s+/).filter(Boolean).length;
  const segmenter = new Intl.Segmenter(document.documentElement.lang || undefined, { granularity: "word" });
  let number = 0;
  for (const segment of segmenter.segment(text)) if (segment.isWordLike) number += 1;
  return number;
}

/**
 * @param {HTMLElement} element
 * @param {string} text
 * @param {{ word: string, words: string, minutes: string }} words Texts with "%(n)s" as the placeholder for the number.
 */
export function showWordCount(element, text, words) {
  const number = countWords(text);
  const minutes = Math.max(1, Math.round(number / WORDS_PER_MINUTE));
  const parts = [
    number === 1 ? words.word : words.words.replace("%(n)s", number.toLocaleString()),
    words.minutes.replace("%(n)s", String(minutes)),
  ];
  element.textContent = parts.join(" · ");
}
