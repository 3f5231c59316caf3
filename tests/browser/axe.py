"""The accessibility checker axe-core, and the script that runs it on a page."""

from pathlib import Path

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async () => {
  // The end of one may begin the next: a child's colour follows its parent's.
  for (let running; (running = document.getAnimations()).length;) await Promise.all(running.map(one => one.finished));
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations.flatMap(violation => violation.nodes.map(node => {
    const why = node.any.concat(node.all).map(check => check.message).join("; ");
    return `${violation.id}: ${node.target} ${node.html.slice(0, 160)}: ${why.slice(0, 200)}`;
  }));
}"""
