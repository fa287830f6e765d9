"""Trained models for other programs, by the protocol UM-Bridge 1.0, and a page to try them in a browser."""

from raffia.serve.page import Page
from raffia.serve.served import Served
from raffia.serve.server import Server, serving

__all__ = ["Page", "Served", "Server", "serving"]
