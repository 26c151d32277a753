"""All figures by name: P1 to P19, of which the page "Performance" of the manual has the most.

Each is a function that measures LiveFetch and its limit or peer in turns and prints the rows of a
table. Without a LiveFetch program (--bare) it measures the limit or peer only."""

from access import p13
from imports import p9
from library import p19
from live import p3, p4, p5, p6, p7, p11
from postgres import p14, p15, p16, p17, p18
from reads import p1, p2, p10
from saves import p8

FIGURES = (p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p13, p14, p15, p16, p17, p18, p19)
ALL = {figure.__name__.upper(): figure for figure in FIGURES}
