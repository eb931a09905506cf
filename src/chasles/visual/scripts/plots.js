// Draws a figure into an element; on narrow pages the legend goes below.
"use strict";

function drawPlot(plot, { data, layout }, filename) {
  const narrow = plot.clientWidth < 720;
  if (narrow && layout.legend) {
    const rows = Math.ceil(data.filter(trace => trace.showlegend !== false).length / 2);
    Object.assign(layout.legend, { orientation: "h", x: 0, y: 0, yref: "container", yanchor: "bottom" });
    layout.height += 22 * rows;
    layout.margin.b += 22 * rows;
  }
  const config = { displayModeBar: narrow ? false : "hover", responsive: true, displaylogo: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    toImageButtonOptions: { format: "svg", filename } };
  return /** @type {any} */ (window)["Plotly"].newPlot(plot, data, layout, config);
}
