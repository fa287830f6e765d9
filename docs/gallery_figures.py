"""How the gallery shows figures that pyplot does not know, such as those of `raffia.plotting`: the last value of a block."""

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def scrape(block, block_vars, gallery_conf):
    """Save the figure that a block ends with, and return the text that shows it."""
    last = block_vars["example_globals"].get("___")
    if not isinstance(last, Figure) or last.get_label() == "shown":
        return ""
    last.set_label("shown")
    path = next(block_vars["image_path_iterator"])
    last.savefig(path)
    return figure_rst([path], gallery_conf["src_dir"])
