"""
How do other programs call my model?
====================================

After this page you can serve a model over HTTP and call it, with gradients, from any language.
"""

import json
import urllib.request

import matplotlib.pyplot as plt

from raffia import RandomFeatureModel
from raffia.features import FourierFeatures
from raffia.problems import Burgers
from raffia.serve import serving

problem = Burgers(fine_points=256)
train = problem.dataset(100, points=64, seed=0)
model = RandomFeatureModel(FourierFeatures(), 256, ridge=1e-6).fit(train.a, train.y)


def post(url, body):
    """Send JSON and return the JSON of the answer."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


with serving({"burgers": model}) as url:
    answer = post(f"{url}/Evaluate", {"name": "burgers", "input": [train.a[0].tolist()], "config": {}})
plt.plot(train.a[0], label="sent")
plt.plot(answer["output"][0], label="received")
plt.legend()

# %%
# The protocol is UM-Bridge, for which there are clients in C++, Julia, MATLAB, R and Python. In a shell::
#
#     raffia serve burgers.safetensors --page   # and a page to play with, in a browser

print(len(answer["output"][0]))
