"""The forms of statistics that raffia knows, by name: a new one is a line here."""

import torch

from raffia.regression.kernel_equations import KernelEquations
from raffia.regression.modal_dual import ModalDual
from raffia.regression.modal_equations import ModalEquations
from raffia.regression.normal_equations import NormalEquations
from raffia.regression.statistics import Packed, Statistics
from raffia.regression.streamed import Streamed
from raffia.regression.triangular import TriangularFactor

FORMS: dict[str, type[Statistics]] = {
    form.__name__: form for form in (NormalEquations, TriangularFactor, Streamed, KernelEquations, ModalEquations, ModalDual)
}


def unpacked(content: Packed, device: torch.device | str = "cpu") -> Statistics:
    """Statistics of any form, from what `Statistics.packed` made of them."""
    return FORMS[content["kind"]].unpacked(content, device)
