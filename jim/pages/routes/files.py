"""To come."""

from __future__ import annotations

from flask import Flask

from jim.pages.app import Pages


def add(app: Flask, pages: Pages) -> None:
    """Add the page."""
