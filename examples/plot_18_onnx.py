"""
How do I run a model without raffia?
====================================

After this page you can export a model to ONNX and run it with ONNX Runtime, which has interfaces for C, C++, C#, Java and more.
"""

import matplotlib.pyplot as plt
import onnxruntime

from raffia import RandomFeatureModel
from raffia.features import FourierFeatures
from raffia.problems import Burgers

problem = Burgers(fine_points=256)
train = problem.dataset(100, points=64, seed=0)
model = RandomFeatureModel(FourierFeatures(), 128, ridge=1e-6).fit(train.a, train.y)
model.export("burgers.onnx")

session = onnxruntime.InferenceSession("burgers.onnx")
name = session.get_inputs()[0].name
exported = session.run(None, {name: train.a[:5].float().numpy()})[0]
plt.plot(exported[0], label="ONNX Runtime")
plt.plot(model.predict(train.a[:1])[0], "--", label="raffia")
plt.legend()

# %%
# The file holds one grid and any number of inputs. It takes single precision, so the difference is small but not zero:

print(abs(exported - model.predict(train.a[:5]).numpy()).max())
