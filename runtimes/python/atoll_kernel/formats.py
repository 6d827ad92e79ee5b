# SPDX-License-Identifier: Apache-2.0
"""What a displayed object is made into, beyond IPython's own formats: json, table data, charts."""
import base64
import sys

from IPython.core.formatters import BaseFormatter, JSONFormatter
from traitlets import ObjectName, Unicode

from .plain import NotPlain, plain

DATA_MIME = "e2b/data"
CHART_MIME = "e2b/chart"


class Json(JSONFormatter):
    def __call__(self, obj):
        if isinstance(obj, (list, dict)):
            try:
                return plain(obj)
            except (NotPlain, RecursionError):
                return None
        return super().__call__(obj)


class Data(BaseFormatter):
    """A pandas DataFrame as {column: [values]}."""

    format_type = Unicode(DATA_MIME)
    print_method = ObjectName("_repr_e2b_data_")
    _return_type = (dict, str)

    def __call__(self, obj):
        # Whoever has a frame has pandas loaded; nobody else should pay for it.
        pandas = sys.modules.get("pandas")
        if pandas is None or not isinstance(obj, getattr(pandas, "DataFrame", ())):
            return super().__call__(obj)
        columns = {}
        for at, name in enumerate(obj.columns):
            column = obj.iloc[:, at]
            missing = column.isna().tolist()
            columns[str(name)] = [None if gone else plain(v, lenient=True) for v, gone in zip(column.tolist(), missing)]
        return columns


class Chart(BaseFormatter):
    """A matplotlib figure as the numbers it shows."""

    format_type = Unicode(CHART_MIME)
    print_method = ObjectName("_repr_e2b_chart_")
    _return_type = (dict, str)

    def __call__(self, obj):
        figure = sys.modules.get("matplotlib.figure")
        if figure is None or not isinstance(obj, figure.Figure):
            return super().__call__(obj)
        from .charts import chart_of

        try:
            return plain(chart_of(obj), lenient=True) or None
        except Exception:  # noqa: BLE001 - the picture is there, its numbers are a bonus
            return None


def install(shell):
    formatter = shell.display_formatter
    formatter.formatters["application/json"] = Json(parent=formatter)
    formatter.formatters[DATA_MIME] = Data(parent=formatter)
    formatter.formatters[CHART_MIME] = Chart(parent=formatter)


def bundle(data):
    """A formatted object as JSON can carry it: bytes in base64, joined by nothing, without empty kinds."""
    out = {}
    for mime, value in data.items():
        if isinstance(value, bytes):
            value = base64.b64encode(value).decode("ascii")
        elif isinstance(value, str):
            if mime.startswith("image/") and mime != "image/svg+xml" or mime == "application/pdf":
                value = value.replace("\n", "")
        elif value is not None:
            value = plain(value, lenient=True)
        if value is not None:
            out[mime] = value
    return out
