"""The style of all figures: a journal's width, sizes of text, colours that print in grey, and the files of a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from io import BytesIO
from typing import TYPE_CHECKING, Any, ParamSpec

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType

P = ParamSpec("P")

PAGE_IN = 7.0
"""The width of a figure over both columns of a journal's page, in inches: nothing in it is made smaller in print."""
DPI = 300
FORMS = ("png", "pdf", "svg")
"""The files of a figure: pixels at `DPI`, and vectors."""

COLOURS = ("#12304f", "#2b7a78", "#e8a33d", "#8c2d4f", "#cfe0ee", "#5f97cc")
"""The colours of areas, in the order of their use; in grey any two differ by 11 or more of 100 (CIE L*)."""
LINE_COLOURS = (*COLOURS[:4], COLOURS[5])
"""The colours of lines and marks: those that can be seen on white."""
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
"""Kinds of lines, beside their colours."""
HATCHES = ("", "////", "....", "xxxx")
"""Patterns of areas: the next one where all colours have been used."""
ON_COLOURS = ("white", "white", "black", "white", "black", "black")
"""The colour of the pattern on each of `COLOURS`."""
SPAN = "#d0d0d0"
"""The colour of spans behind marks."""

#: of the ticks' labels, the smallest text, in points
_LEAST_PT = 7.0
_STYLE: dict[RcKeyType, Any] = {
    "font.family": "sans-serif",
    "font.size": 8.0,
    "axes.labelsize": 8.0,
    "axes.titlesize": 8.0,
    "figure.titlesize": 9.0,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.1,
    "lines.markersize": 4.0,
    "patch.linewidth": 0.0,
    "hatch.linewidth": 0.7,
    "errorbar.capsize": 2.5,
    # Text that an editor can search and change; the older kind is refused by many journals.
    "pdf.fonttype": 42,
    # Names inside of the file are made of this and of what is drawn.
    "svg.hashsalt": "fawkes",
}
#: nothing of the machine, the time or the version of the library
_NO_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
    "svg": {"Creator": None, "Date": None, "Format": None, "Type": None},
}


def new_figure(height_in: float) -> Figure:
    """An empty figure of a page's width at `DPI`, which places its own parts."""
    from matplotlib.figure import Figure

    return Figure(figsize=(PAGE_IN, height_in), dpi=DPI, layout="constrained")


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """A function that draws, so that its figure has this style wherever it is shown or saved later."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        from matplotlib import rc_context

        with rc_context(_STYLE):
            figure = draw(*args, **kwargs)
        for panel in figure.axes:
            # Ticks are made only when the figure is saved, in the style of that moment.
            panel.tick_params(which="both", labelsize=_LEAST_PT, width=0.6)
        return figure

    return drawn


def legend_below(figure: Figure, handles: Sequence[Artist], columns: int = 4) -> None:
    """Explain marks under the panels, in lines of at most so many; no legend without handles."""
    if handles:
        figure.legend(handles=list(handles), loc="outside lower center", ncols=min(columns, len(handles)))


def log_ticks(panel: Axes, low: float, high: float) -> None:
    """A logarithmic axis of values between two, with plain numbers where a reader looks for them."""
    from matplotlib.ticker import FuncFormatter, Locator, LogLocator, MaxNLocator, NullLocator

    panel.set_yscale("log")
    steps = high / low
    places: Locator = MaxNLocator(5, steps=[1, 2, 5, 10])
    if steps >= 3:
        parts = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0) if steps < 10 else (1.0, 2.0, 5.0) if steps < 1000 else (1.0,)
        places = LogLocator(subs=parts)
    panel.yaxis.set_major_locator(places)
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    panel.yaxis.set_minor_locator(NullLocator())


def rendered(figure: Figure, form: str = "png") -> bytes:
    """A figure as one of `FORMS`; the same figure gives the same bytes."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    out = BytesIO()
    with rc_context(_STYLE):
        figure.savefig(out, format=form, dpi=DPI, metadata=_NO_METADATA[form])
    return out.getvalue()
