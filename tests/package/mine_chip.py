# SPDX-License-Identifier: Apache-2.0
# The layer of mine_chip.c from Python.
import numpy
import sqsim

n = numpy.arange(64 * 256)
w = ((n * 37 % 101 - 50).astype(numpy.float32) / numpy.float32(50)).reshape(64, 256)
layer = sqsim.encode(w, "nvfp4")
image = layer.image(w[-1:], machine="chip")
memory, done = image.run(stepping=True)
y = image.check(memory)
assert (y == layer.product(w[-1:])).all()
print(f"{done['cycles']:.0f} cycles, y = {y[0, 0]:g} ... {y[0, 63]:g}")
