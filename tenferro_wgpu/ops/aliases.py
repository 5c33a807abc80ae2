"""Other names of the same functions: NumPy's old ones, and the Rust project's."""

from __future__ import annotations

from .bits import bitwise_left_shift, bitwise_not, bitwise_right_shift
from .choice import where
from .data_types import astype
from .elementwise import abs, conj, divide, multiply, negative, subtract
from .hyperbolic import acosh, asinh, atanh
from .powers import pow
from .reduction import max, min
from .rounding import remainder, round, trunc
from .structural import permute_dims
from .trigonometry import acos, asin, atan, atan2, deg2rad, rad2deg

__all__ = [
    "absolute", "amax", "amin", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
    "arctanh", "around", "bitwise_invert", "cast", "conjugate", "degrees", "div", "fix",
    "invert", "left_shift", "mod", "mul", "neg", "permute", "power", "radians", "right_shift",
    "select", "sub", "true_divide",
]  # fmt: skip

absolute = abs
amax = max
amin = min
arccos = acos
arccosh = acosh
arcsin = asin
arcsinh = asinh
arctan = atan
arctan2 = atan2
arctanh = atanh
around = round
bitwise_invert = bitwise_not
conjugate = conj
degrees = rad2deg
fix = trunc
invert = bitwise_not
left_shift = bitwise_left_shift
mod = remainder
power = pow
radians = deg2rad
right_shift = bitwise_right_shift
true_divide = divide

# The Rust project's.
cast = astype
div = divide
mul = multiply
neg = negative
permute = permute_dims
select = where
sub = subtract
