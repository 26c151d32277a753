"""The figures of the targets by name. Each is a function that measures LiveFetch beside its limit
or peer and prints its rows; with no LiveFetch program (--bare) only the other side is measured."""

from access import p13
from imports import p9
from live import p3, p4, p5, p6, p7, p11
from postgres import p14, p15, p16, p17, p18
from reads import p1, p2, p10
from saves import p8

FIGURES = (p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p13, p14, p15, p16, p17, p18)
ALL = {figure.__name__.upper(): figure for figure in FIGURES}
