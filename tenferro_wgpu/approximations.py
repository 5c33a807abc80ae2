"""Coefficients of the special functions: one source for the array kernels and the WGSL text.

Read by `backends/special_functions.py`, and by the shader assembler, whose templates see this
module as `approximations`.  Nothing is computed here.

The polynomials interpolate at Chebyshev points and were computed with 60 digits; coefficients
begin with the constant one.  Names in _SINGLE are for float32.  The functions they approximate
are chosen as in Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in
0 <= x < infinity" (Math. Comp. 36, 1981), and in fdlibm (lgamma and digamma divided by their
zeros, so that relative errors stay small there).
"""

from __future__ import annotations

from struct import pack, unpack
from typing import Final

#: erf(x) / x in x^2, 0 <= |x| <= 1.  Degree 13; relative error 2.4e-21.
ERF: Final = (
    1.1283791670955126,
    -0.37612638903183754,
    0.1128379167095512,
    -0.02686617064512984,
    0.0052239776254232985,
    -0.000854832702193483,
    0.00012055332902888736,
    -1.4925647567519332e-05,
    1.6462045441468418e-06,
    -1.6364642158167616e-07,
    1.4792401209404813e-08,
    -1.216456005728345e-09,
    8.709045129053106e-11,
    -4.230945824295338e-12,
)
#: erf(x) / x in x^2, 0 <= |x| <= 1.  Degree 7; relative error 3.7e-11.
ERF_SINGLE: Final = (
    1.128379225730896,
    -0.37612637877464294,
    0.11283782124519348,
    -0.026865430176258087,
    0.005221031606197357,
    -0.0008484080317430198,
    0.00011265958892181516,
    -9.667044650996104e-06,
)
#: (1 + 2x) exp(x^2) erfc(x) in (x - 4) / (x + 4), x >= 1/2.  Degree 22; relative error 7.4e-18.
ERFC: Final = (
    1.2329951186255526,
    -0.1396211168405625,
    0.01537965210262021,
    0.06809705425468858,
    -0.10103906603634742,
    0.09373283499851863,
    -0.06633036581087434,
    0.03716751553423657,
    -0.016197734077877748,
    0.0050319700130714105,
    -0.0007577731198845029,
    -0.00019925692900828166,
    0.0001506208125905374,
    -2.4398198695781975e-05,
    -1.1219239450968377e-05,
    5.706822301859325e-06,
    2.880833478272064e-07,
    -8.199551611794782e-07,
    8.187721285705348e-08,
    1.0358588303681392e-07,
    -2.30775672736564e-08,
    -9.752941425191894e-09,
    3.4238599655102397e-09,
)
#: (1 + 2x) exp(x^2) erfc(x) in (x - 4) / (x + 4), x >= 1/2.  Degree 11; relative error 1.1e-8.
ERFC_SINGLE: Final = (
    1.2329951524734497,
    -0.1396212875843048,
    0.015379776246845722,
    0.06810205429792404,
    -0.10104241222143173,
    0.09369005262851715,
    -0.0662989541888237,
    0.0373167023062706,
    -0.01632334664463997,
    0.004808662459254265,
    -0.0005347136175259948,
    -9.24959676922299e-05,
)
#: log gamma(2 + d) / d in d, |d| <= 1/2.  Degree 17; relative error 2.1e-17.
GAMMA: Final = (
    0.42278433509846713,
    0.3224670334241132,
    -0.06735230105319563,
    0.02058080842778338,
    -0.007385551028935545,
    0.002890510330865901,
    -0.0011927539009983087,
    0.0005096695196526673,
    -0.00022315497746292723,
    9.945761692157133e-05,
    -4.4923727564247656e-05,
    2.050601970174762e-05,
    -9.45628851510172e-06,
    4.3828545383846665e-06,
    -1.9743106888421067e-06,
    9.242852225162277e-07,
    -5.811277768921246e-07,
    2.7475390051909663e-07,
)
#: log gamma(2 + d) / d in d, |d| <= 1/2.  Degree 8; relative error 4.6e-9.
GAMMA_SINGLE: Final = (
    0.42278432846069336,
    0.32246702909469604,
    -0.067352294921875,
    0.020581625401973724,
    -0.007385920733213425,
    0.002878868719562888,
    -0.001187484827823937,
    0.0005702512571588159,
    -0.0002505620359443128,
)
#: digamma(x0 + w) / w in w, 1 <= x0 + w <= 2, digamma(x0) = 0.  Degree 21; relative error 1.6e-17.
DIGAMMA: Final = (
    0.9676722454476212,
    -0.4427631689835915,
    0.25849976095565214,
    -0.16394270544259865,
    0.10782405069118742,
    -0.072199561238073,
    0.04880428816027699,
    -0.033161127280363,
    0.02259764870569479,
    -0.015424746562676783,
    0.010538774679626108,
    -0.007204811717465386,
    0.004927092544644749,
    -0.003367342597731564,
    0.0023017947243217925,
    -0.0015903256854484034,
    0.0011003326985068057,
    -0.0006962303923862455,
    0.000423302869727366,
    -0.00040427587920188247,
    0.00039917403499883605,
    -0.00017312261802727394,
)
#: digamma(x0 + w) / w in w, 1 <= x0 + w <= 2, digamma(x0) = 0.  Degree 9; relative error 2.4e-8.
DIGAMMA_SINGLE: Final = (
    0.9676722884178162,
    -0.4427628815174103,
    0.25849655270576477,
    -0.16395922005176544,
    0.10793623328208923,
    -0.07195542752742767,
    0.047426462173461914,
    -0.034230560064315796,
    0.029401693493127823,
    -0.0159063171595335,
)
#: B_2k / (2k (2k - 1)), k = 1, 2, ...: Stirling's series of log gamma.
STIRLING: Final = (
    0.08333333333333333,
    -0.002777777777777778,
    0.0007936507936507937,
    -0.0005952380952380953,
    0.0008417508417508417,
    -0.0019175269175269176,
    0.00641025641025641,
    -0.029550653594771242,
)
#: B_2k / 2k: the asymptotic series of digamma.
HARMONIC: Final = (
    0.08333333333333333,
    -0.008333333333333333,
    0.003968253968253968,
    -0.004166666666666667,
    0.007575757575757576,
    -0.021092796092796094,
    0.08333333333333333,
    -0.4432598039215686,
    3.0539543302701198,
)
#: B_2k / (2k)!: Euler and Maclaurin's sum of the Hurwitz zeta function.
EULER_MACLAURIN: Final = (
    0.08333333333333333,
    -0.001388888888888889,
    3.306878306878307e-05,
    -8.267195767195768e-07,
    2.08767569878681e-08,
    -5.284190138687493e-10,
    1.3382536530684679e-11,
    -3.3896802963225827e-13,
    8.586062056277845e-15,
    -2.174868698558062e-16,
    5.5090028283602295e-18,
    -1.3954464685812522e-19,
)
#: The positive zero of digamma, as the nearest number and what is missing.
DIGAMMA_ZERO: Final = (1.4616321449683622, 9.549995429965697e-17)
DIGAMMA_ZERO_SINGLE: Final = (1.4616321325302124, 1.243815006546356e-08)
#: (pi cot(pi s) - 1/s + 1/(1 - s) - 1/(1 + s)) / s in s^2, |s| <= 1/2.  Degree 9; error 2^-54.
COTANGENT: Final = (
    -1.2898681336964528,
    -0.16464646742227734,
    -0.03468612396877236,
    -0.008154712402316654,
    -0.001989150089297264,
    -0.0004921755730245884,
    -0.00012247408676611932,
    -3.06872541684332e-05,
    -7.229113560603137e-06,
    -2.6275597564040074e-06,
)
#: (pi cot(pi s) - 1/s + 1/(1 - s) - 1/(1 + s)) / s in s^2, |s| <= 1/2.  Degree 4; error 1.5e-8.
COTANGENT_SINGLE: Final = (
    -1.2898681163787842,
    -0.16464625298976898,
    -0.03469311445951462,
    -0.008077539503574371,
    -0.002330685965716839,
)
#: log(2), of 32 digits and what is missing: times a number of 21 digits the first is exact.
LOG_TWO: Final = (0.6931471803691238, 1.9082149292705877e-10)
PI: Final = 3.141592653589793
LOG_PI: Final = 1.1447298858494002
HALF_LOG_TWO_PI: Final = 0.9189385332046728


def bits(value: float, words: int) -> tuple[int, int]:
    """The low and high word of a number: as float64 (two words), or as float32 (one, and 0)."""
    if words == 1:
        return unpack("<I", pack("<f", value))[0], 0
    low, high = unpack("<II", pack("<d", value))
    return low, high


def fixed(value: float, scale: float = 1.0) -> tuple[int, int]:
    """The low and high word of the size of `value` times `scale`, 64 bits behind the point.

    A value below one and a `scale` that is a power of two.

    >>> fixed(-0.75)
    (0, 3221225472)
    """
    numerator, denominator = abs(value * scale).as_integer_ratio()
    scaled = (numerator << 64) // denominator
    return scaled & 0xFFFFFFFF, scaled >> 32


def fixed_signed(value: float, scale: float = 1.0) -> tuple[int, int]:
    """The words of `value` times `scale` in two's complement, 64 bits behind the point.

    A size below one half after the scale, which is a power of two.

    >>> fixed_signed(-0.25)
    (0, 3221225472)
    """
    numerator, denominator = (value * scale).as_integer_ratio()
    scaled = (numerator << 64) // denominator
    return scaled & 0xFFFFFFFF, scaled >> 32 & 0xFFFFFFFF
