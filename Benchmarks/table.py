"""The table that `make bench` prints: one row per figure, as soon as it is known."""

COLUMNS = (
    ("figure", 6),
    ("what", 52),
    ("LiveFetch", 16),
    ("peer or limit", 34),
    ("ratio", 8),
    ("target", 16),
)


def number(value, unit):
    if value is None:
        return "–"
    digits = 0 if value >= 1000 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}"


def line(cells):
    return "  ".join(str(cell).ljust(width) for cell, (_, width) in zip(cells, COLUMNS)).rstrip()


def heading():
    print(line([name for name, _ in COLUMNS]))
    print(line(["-" * width for _, width in COLUMNS]), flush=True)


def row(figure, what, unit, ours, peer, peer_name, target=None, at_least=None, at_most=None):
    """`at_least` and `at_most` limit ours / peer; if `target` is given, they limit `ours` itself."""
    ratio = ours / peer if ours is not None and peer else None
    judged = ratio if target is None else ours
    if target is None:
        target = f"≥ {at_least} ×" if at_least else f"≤ {at_most} ×" if at_most else ""
    if judged is not None and (at_least or at_most):
        met = judged >= at_least if at_least else judged <= at_most
        target += "  met" if met else "  MISSED"
    peer_text = f"{number(peer, unit)} {peer_name}" if peer else peer_name
    ratio = f"{ratio:.2f}" if ratio else "–"
    print(line([figure, what, number(ours, unit), peer_text, ratio, target]), flush=True)


def not_measured(figure, what, why):
    print(line([figure, what, "not measured: " + " ".join(why.split())]), flush=True)
