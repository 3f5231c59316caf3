// The parts of Turndown that the admin's scripts use. `make vendor` bundles them in static/vendor/turndown/turndown.js, and
// TypeScript reads the types of the bundle from this file.

export { gfm } from "@joplin/turndown-plugin-gfm";
export { default as TurndownService } from "turndown";
