// @ts-check
// Uploads files to the photo library.

/**
 * Send a form with one file. Return the site's result for this file, or null if there is no valid response.
 *
 * This function doesn't use fetch(), which can't report the progress of uploads.
 *
 * @param {string} url
 * @param {FormData} body
 * @param {(event: ProgressEvent) => void} onProgress
 * @returns {Promise<any>}
 */
export function upload(url, body, onProgress) {
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    request.open("POST", url);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", onProgress);
    request.addEventListener("loadend", () => {
      try {
        done(JSON.parse(request.responseText).results[0] ?? null);
      } catch {
        done(null);
      }
    });
    request.send(body);
  });
}

/**
 * Return the URL for uploads to a gallery. `template` is this URL with an id that consists of zeros.
 *
 * @param {string} template
 * @param {string} gallery
 */
export const uploadUrl = (template, gallery) => template.replace("0".repeat(24), gallery);
