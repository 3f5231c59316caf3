// Adds empty rows to lists of parts. Without this script, each list ends with some empty rows, and gets more after every save.
document.querySelectorAll("[data-parts]").forEach((parts) => {
  const button = parts.querySelector("[data-add-part]");
  if (!button) return;
  const count = parts.querySelector("input[name$='-count']");
  button.hidden = false;
  button.addEventListener("click", () => {
    const number = Number(count.value);
    const row = parts.querySelector("template").content.cloneNode(true);
    row.querySelectorAll("[name], [id], [for]").forEach((element) => {
      for (const name of ["name", "id", "for"]) {
        if (element.hasAttribute(name))
          element.setAttribute(name, element.getAttribute(name).replaceAll("__n__", number));
      }
    });
    row.querySelector("[name$='-ORDER']").value = number + 1;
    count.value = number + 1;
    parts.insertBefore(row, parts.querySelector("template"));
    button.previousElementSibling.previousElementSibling
      .querySelector("input:not([type=hidden]), textarea, select")
      .focus();
  });
});
