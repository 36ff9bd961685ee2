"""A report to be looked at: ``write_report`` for the page, and what its sections are made of."""

from tracking_parts.evaluation.report.content import (
    Cell,
    Chart,
    Facts,
    Gallery,
    Key,
    Notice,
    Picture,
    Row,
    Section,
    Table,
)
from tracking_parts.evaluation.report.page import write_report

__all__ = [
    "Cell",
    "Chart",
    "Facts",
    "Gallery",
    "Key",
    "Notice",
    "Picture",
    "Row",
    "Section",
    "Table",
    "write_report",
]
