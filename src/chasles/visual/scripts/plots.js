// Draws a figure into an element; on narrow pages the legend goes below.
"use strict";

/** Whether the reader wishes for dark pages. */
const DARK = window.matchMedia("(prefers-color-scheme: dark)");
const PLOT_THEMES = {
  light: { ink: "#33414e", paper: "#ffffff", grid: "#e8edf1", minor: "#f3f6f8", zero: "#c3ccd4", label: "rgba(255,255,255,0.94)" },
  dark: { ink: "#c3ccd4", paper: "#1b2127", grid: "#2b333b", minor: "#222930", zero: "#4a555f", label: "rgba(23,28,33,0.94)" },
};
/** Colors that are hard to see on dark pages, and what stands for them there. */
const ON_DARK = { "#22303c": "#e3e8ec", "#0f6fb4": "#4ba3e3", "#b7c2cc": "#5d6a76" };

/** Figure in the colors of the page; what a figure chose for itself stays. @param {{ data: any[], layout: any }} figure */
function themed({ data, layout }) {
  const theme = PLOT_THEMES[DARK.matches ? "dark" : "light"];
  const lighter = (trace, style) => DARK.matches && trace[style] ? { [style]: { ...trace[style], color: ON_DARK[trace[style].color] ?? trace[style].color } } : {};
  const axes = Object.entries(layout).filter(([name]) => /^[xy]axis\d*$/.test(name))
    .map(([name, axis]) => [name, { ...axis, gridcolor: theme.grid, zerolinecolor: theme.zero, linecolor: theme.zero, ...(axis.minor && { minor: { ...axis.minor, gridcolor: theme.minor } }) }]);
  const lines = data.map(trace => ({ ...trace, ...lighter(trace, "line"), ...lighter(trace, "marker") }));
  return { data: lines, layout: { ...layout, ...Object.fromEntries(axes), font: { ...layout.font, color: theme.ink },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: theme.paper, hoverlabel: { ...layout.hoverlabel, bgcolor: theme.label } } };
}

function drawPlot(plot, { data, layout }, filename) {
  const narrow = plot.clientWidth < 720;
  if (narrow && layout.legend) {
    const rows = Math.ceil(data.filter(trace => trace.showlegend !== false).length / 2);
    Object.assign(layout.legend, { orientation: "h", x: 0, y: 0, yref: "container", yanchor: "bottom" });
    layout.height += 22 * rows;
    layout.margin.b += 22 * rows;
  }
  const config = { displayModeBar: narrow ? false : "hover", responsive: true, displaylogo: false, showSendToCloud: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    toImageButtonOptions: { format: "svg", filename } };
  const plotly = /** @type {any} */ (window)["Plotly"], figure = () => { const { data: lines, layout: look } = themed({ data, layout }); return [plot, lines, look, config]; };
  DARK.addEventListener("change", () => plotly.react(...figure()));
  return plotly.newPlot(...figure());
}
