"""Trained models for other programs and other languages, by the protocol UM-Bridge 1.0."""

from raffia.serve.served import Served
from raffia.serve.server import Server, serving

__all__ = ["Served", "Server", "serving"]
