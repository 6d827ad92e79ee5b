# SPDX-License-Identifier: Apache-2.0
"""The numbers behind a matplotlib figure.

A chart is a dict: type, title, elements and, with two axes, labels, units, ticks and scales. A figure with several axes
is a superchart of charts. What cannot be told apart is "unknown"; a figure that shows nothing has no chart.
"""
import datetime
import re

from matplotlib import dates
from matplotlib.collections import PathCollection
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch, Rectangle, Wedge
from matplotlib.text import Text

UNIT = re.compile(r"\s\((.*?)\)|\[(.*?)\]")
DIGITS = 10  # significant ones: hides what floating point adds to 36 degrees or a quartile


def chart_of(figure):
    charts = [_axes_chart(ax) for ax in figure.axes if _artists(ax)]
    if not charts:
        return {}
    if len(figure.axes) > 1:
        return {"type": "superchart", "title": figure.get_suptitle() or None, "elements": charts}
    return charts[0]


def _artists(ax):
    """What has been drawn into the axes; their own frame, ticks and titles do not count."""
    own = {ax.patch, ax.title, ax.xaxis, ax.yaxis, *ax.spines.values()}
    return [a for a in ax.get_children() if a not in own and not isinstance(a, Text) and a is not ax.get_legend()]


def _axes_chart(ax):
    kind, artists = _kind(ax)
    extract = {"line": _lines, "scatter": _scatter, "bar": _bars, "pie": _pie, "box_and_whisker": _boxes}.get(kind)
    chart = {"type": kind, "title": ax.get_title() or None}
    if kind not in ("pie", "unknown"):
        chart.update(_labels(ax))
    if kind in ("line", "scatter"):
        chart.update(_ticks("x", ax.xaxis, ax.get_xscale()))
        chart.update(_ticks("y", ax.yaxis, ax.get_yscale()))
    chart["elements"] = extract(ax, artists, chart) if extract else []
    return chart


def _kind(ax):
    artists = _artists(ax)

    def only(*types):
        return bool(artists) and all(isinstance(a, types) for a in artists)

    if only(Line2D):
        if not _looks_like_boxes(artists):
            return "line", [a for a in artists if not _is_guide(a)] or artists
        return "box_and_whisker", artists
    if only(Line2D, PathPatch):
        return "box_and_whisker", artists
    artists = [a for a in artists if not (isinstance(a, Line2D) and _is_guide(a))]
    if only(PathCollection):
        return "scatter", artists
    if only(Wedge):
        return "pie", artists
    if only(Rectangle):
        return "bar", artists
    return "unknown", artists


def _is_guide(line):
    """A horizontal or vertical line between two points: a grid line, axhline, axvline."""
    x, y = list(line.get_xdata()), list(line.get_ydata())
    return len(x) == 2 and (x[0] == x[1] or y[0] == y[1])


def _label(text):
    unit = UNIT.search(text)
    return text or None, (unit.group(1) or unit.group(2)) if unit else None


def _labels(ax):
    (x, x_unit), (y, y_unit) = _label(ax.get_xlabel()), _label(ax.get_ylabel())
    return {"x_label": x, "y_label": y, "x_unit": x_unit, "y_unit": y_unit}


def _swap(chart):
    for what in ("label", "unit"):
        chart[f"x_{what}"], chart[f"y_{what}"] = chart[f"y_{what}"], chart[f"x_{what}"]


def _round(value):
    return float(f"{float(value):.{DIGITS}g}")


# Points.


def _is_date(axis):
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    return isinstance(converter, (dates.DateConverter, dates._SwitchableDateConverter))


def _ticks(name, axis, scale):
    values = [float(v) for v in axis.get_majorticklocs()]
    labels = [label.get_text() for label in axis.get_ticklabels()]
    if _is_date(axis):
        return {f"{name}_ticks": [dates.num2date(v).isoformat() for v in values], f"{name}_tick_labels": labels,
                f"{name}_scale": "datetime"}
    return {f"{name}_ticks": values, f"{name}_tick_labels": labels, f"{name}_scale": _scale(scale, values, labels)}


def _scale(scale, values, labels):
    if scale != "linear":
        return scale
    pairs = list(zip(values, labels))
    # Categories sit at 0, 1, 2 ... under names that are not these numbers.
    named = all(v == i and label != str(i) for i, (v, label) in enumerate(pairs))
    return "categorical" if pairs and named else "linear"


def _coordinate(value, axis):
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if type(value).__module__ == "numpy" and hasattr(value, "dtype") and value.dtype.kind == "M":
        return str(value.astype("datetime64[s]"))
    if isinstance(value, str):
        return value
    if _is_date(axis):
        return dates.num2date(float(value)).isoformat()
    return float(value)


def _points(ax, xs, ys):
    return [[_coordinate(x, ax.xaxis), _coordinate(y, ax.yaxis)] for x, y in zip(xs, ys)]


def _lines(ax, artists, chart):
    out = []
    for line in artists:
        label = str(line.get_label())
        if label.startswith("_child"):
            label = f"Line {label[len('_child'):]}"
        out.append({"label": label, "points": _points(ax, line.get_xdata(), line.get_ydata())})
    return out


def _scatter(ax, artists, chart):
    return [{"label": str(dots.get_label()), "points": _points(ax, *zip(*dots.get_offsets().tolist()))
             if len(dots.get_offsets()) else []} for dots in artists]


# Bars.


def _bars(ax, artists, chart):
    out = []
    for container in ax.containers:
        group = str(container.get_label())
        if group.startswith("_container"):
            group = f"Group {group[len('_container'):]}"
        lying = getattr(container, "orientation", None) == "horizontal"
        if lying and not out:
            _swap(chart)
        axis = ax.yaxis if lying else ax.xaxis
        names = {float(at): label.get_text() for at, label in zip(axis.get_majorticklocs(), axis.get_ticklabels())}
        for bar in container.patches:
            at = bar.get_y() + bar.get_height() / 2 if lying else bar.get_x() + bar.get_width() / 2
            value = bar.get_width() if lying else bar.get_height()
            out.append({"label": _bar_name(at, names), "group": group, "value": float(value)})
    return out


def _bar_name(at, names):
    """The name of the nearest tick: bars of a group stand beside it. A number where there is no tick near."""
    near = min(names, key=lambda tick: abs(tick - at), default=None)
    if near is not None and abs(near - at) < 0.5 and names[near]:
        return names[near]
    return f"{_round(at):g}"


# Pies.


def _pie(ax, artists, chart):
    return [
        {"label": str(w.get_label()), "angle": abs(_round(w.theta2 - w.theta1)), "radius": float(w.r)} for w in artists
    ]


# Boxes.


def _looks_like_boxes(lines):
    """boxplot() without patches draws closed boxes of five points as lines."""
    return any(len(line.get_xdata()) == 5 and line.get_xdata()[0] == line.get_xdata()[4]
               and line.get_ydata()[0] == line.get_ydata()[4] and len(set(line.get_xdata())) == 2 for line in lines)


def _outline(artist):
    if isinstance(artist, Line2D):
        return list(zip(artist.get_xdata(), artist.get_ydata()))
    return artist.get_path().vertices.tolist()


def _boxes(ax, artists, chart):
    outlines = [_outline(a) for a in artists if isinstance(a, PathPatch)]
    if not outlines:
        outlines = [_outline(a) for a in artists if len(a.get_xdata()) == 5]
    boxes = [_box([_round(x) for x, _ in o], [_round(y) for _, y in o]) for o in outlines]
    lying = len({(b["y0"], b["y1"]) for b in boxes}) == len(boxes) and len({b["x0"] for b in boxes}) != len(boxes)
    if not lying and len(boxes) == 1:
        box = boxes[0]
        lying = box["y1"] - box["y0"] < box["x1"] - box["x0"] and _is_lying(artists)
    if lying:
        _swap(chart)
        boxes = [{"x0": b["y0"], "x1": b["y1"], "y0": b["x0"], "y1": b["x1"]} for b in boxes]
    for box in boxes:
        box.update(median=None, low=box["y0"], high=box["y1"], outliers=[])
    for line in artists:
        if isinstance(line, Line2D) and len(line.get_xdata()) != 5:
            _box_line(boxes, line, lying)
    labels = [t.get_text() for t in (ax.get_yticklabels() if lying else ax.get_xticklabels())]
    return [
        {
            "label": labels[i] if i < len(labels) else "",
            "min": b["low"],
            "first_quartile": b["y0"],
            "median": b["median"],
            "third_quartile": b["y1"],
            "max": b["high"],
            "outliers": b["outliers"],
        }
        for i, b in enumerate(boxes)
    ]


def _is_lying(artists):
    """The median of a lying box is a vertical line."""
    medians = [a for a in artists if isinstance(a, Line2D) and len(a.get_xdata()) == 2]
    return bool(medians) and all(_round(a.get_xdata()[0]) == _round(a.get_xdata()[1]) for a in medians[-1:])


def _box(xs, ys):
    return {"x0": min(xs), "x1": max(xs), "y0": min(ys), "y1": max(ys)}


def _box_line(boxes, line, lying):
    xs, ys = [_round(v) for v in line.get_xdata()], [_round(v) for v in line.get_ydata()]
    if lying:
        xs, ys = ys, xs
    box = next((b for b in boxes if xs and b["x0"] <= min(xs) and max(xs) <= b["x1"]), None)
    if box is None:
        return
    if line.get_linestyle() in ("None", "none", " ", ""):
        box["outliers"] += ys
    elif len(ys) == 2 and ys[0] == ys[1] and box["y0"] <= ys[0] <= box["y1"]:
        if xs[0] != xs[1] and (box["median"] is None or xs[1] - xs[0] >= box["x1"] - box["x0"]):
            box["median"] = ys[0]
    elif len(ys) == 2 and max(ys) == box["y0"]:
        box["low"] = min(ys)
    elif len(ys) == 2 and min(ys) == box["y1"]:
        box["high"] = max(ys)
