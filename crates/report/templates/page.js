(() => {
  // Opens a folded section if a link leads to it. Opens all sections before the page is printed.
  const open = () => {
    const to = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!to) return;
    to.querySelectorAll(":scope > details").forEach((d) => (d.open = true));
    to.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => (d.open = true)));
  // loadline only estimates whether a table must scroll. The hint to scroll is shown only if the table does not fit.
  const fits = (box) => box.scrollWidth <= box.clientWidth;
  const widths = new ResizeObserver((boxes) => boxes.forEach(({ target }) => {
    const hint = target.previousElementSibling;
    hint.hidden = fits(target);
    hint.classList.toggle("needed", !hint.hidden);
  }));
  document.querySelectorAll(".swipe + .scroll").forEach((box) => widths.observe(box));
  // A click on a column's heading sorts the table by this column. Another click reverses the order.
  for (const table of document.querySelectorAll("table.sort")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, at) => {
      const key = (row) => Number.parseFloat(row.cells[at].dataset.sort ?? "Infinity");
      const text = (row) => row.cells[at].textContent;
      const sort = () => {
        const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        const order = (a, b) => sign * (Math.sign(key(a) - key(b)) || text(a).localeCompare(text(b)));
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
      };
      head.tabIndex = 0;
      head.addEventListener("click", sort);
      head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
    });
  }
  // Shows the value nearest to the pointer in the corner of its chart, because a point is too small to aim at.
  for (const chart of document.querySelectorAll(".chart svg[role]")) {
    const points = [...chart.querySelectorAll("circle, rect")].filter((p) => p.querySelector("title"));
    if (!points.length) continue;
    const told = document.createElement("output");
    told.className = "told";
    told.setAttribute("aria-hidden", "true");
    chart.after(told);
    let lit;
    const show = (point) => {
      if (lit) lit.classList.remove("lit");
      lit = point;
      if (lit) lit.classList.add("lit");
      told.textContent = lit ? lit.querySelector("title").textContent : "";
    };
    const away = (point, event) => {
      const box = point.getBoundingClientRect();
      const beyond = (at, low, high) => Math.max(low - at, 0, at - high);
      return Math.hypot(beyond(event.clientX, box.left, box.right), beyond(event.clientY, box.top, box.bottom));
    };
    chart.addEventListener("pointermove", (event) => {
      let best = null, least = 60;
      for (const point of points) {
        const far = away(point, event);
        if (far < least) (best = point), (least = far);
      }
      show(best);
    });
    chart.addEventListener("pointerleave", () => show(null));
  }
})();
