#!/usr/bin/env python3
"""Prints the polynomial coefficients of math_*.h: minimax fits by Remez's exchange (E. Remes, 1934) in 60 digits.

    python3 core/cpu/math_fit.py [name ...]      needs mpmath

Each line: what is fitted, on which interval, the largest weighted error found, then the coefficients, lowest first.
"""
import sys

from mpmath import mp, mpf, matrix, lu_solve, exp, expm1, log, log1p, atan, asin, sin, cos, tanh, erf, erfc, sqrt, pi, cbrt

mp.dps = 60


def remez(f, a, b, degree, weight=lambda x: mpf(1), rounds=12, grid=1500):
    """The polynomial p of this degree with the least max |weight * (p - f)| on [a, b], and that maximum."""
    a, b = mpf(a), mpf(b)
    n = degree + 2
    points = [(a + b) / 2 - (b - a) / 2 * mp.cos(pi * i / (n - 1)) for i in range(n)]
    xs = [(a + b) / 2 - (b - a) / 2 * mp.cos(pi * i / grid) for i in range(grid + 1)]
    fs, ws = [f(x) for x in xs], [weight(x) for x in xs]
    least = max(ws) / 1000  # a weight of 0 would leave the fit without a hold there
    ws = [max(w, least) for w in ws]
    for _ in range(rounds):
        A, y = matrix(n, n), matrix(n, 1)
        for i, x in enumerate(points):
            for k in range(degree + 1):
                A[i, k] = x**k
            A[i, degree + 1] = (-1) ** i / max(weight(x), least)
            y[i] = f(x)
        c = list(lu_solve(A, y))[: degree + 1]
        errors = [w * (mp.polyval(c[::-1], x) - v) for x, v, w in zip(xs, fs, ws)]
        # The largest error of each run of one sign is the next reference point.
        runs = []
        for x, e in zip(xs, errors):
            if runs and (runs[-1][1] > 0) == (e > 0):
                if abs(e) > abs(runs[-1][1]):
                    runs[-1] = (x, e)
            else:
                runs.append((x, e))
        while len(runs) > n:
            runs.pop(0 if abs(runs[0][1]) < abs(runs[-1][1]) else -1)
        if len(runs) < n:
            break
        points = [x for x, _ in runs]
    return c, max(abs(e) for e in errors)


def series_at_0(f, value0, tiny=mpf(10) ** -12):
    """f, but value0 where its formula cancels."""
    return lambda z: value0 if z < tiny else f(z)


ln2 = log(mpf(2))
THIRD = mpf(1) / 3


def odd(f):
    """(f(x) / x - 1) / x^2 as a function of z = x^2."""
    return lambda z: (f(sqrt(z)) / sqrt(z) - 1) / z


# name: (function, from, to, weight); the weight turns an error of the polynomial into a relative error of the result.
def exp_tail(r):
    return mpf(1) / 2 + r / 6 if abs(r) < mpf(10) ** -20 else (expm1(r) - r) / r**2


def log_s(z):  # log(1 + f) = 2 s + s z L(z), s = f / (2 + f), z = s^2
    if z < mpf(10) ** -15:
        return mpf(2) / 3
    s = sqrt(z)
    return (log((1 + s) / (1 - s)) / s - 2) / z


def log_s_rest(z):  # (L(z) - 2/3) / z
    return mpf(2) / 5 if z < mpf(10) ** -15 else (log_s(z) - mpf(2) / 3) / z


def log_tail(f):  # log(1 + f) = f - f^2 / 2 + f^3 P(f)
    if abs(f) < mpf(10) ** -15:
        return THIRD
    return (log1p(f) - f + f * f / 2) / f**3


def cos_tail(z):
    return mpf(1) / 24 if z < mpf(10) ** -15 else (cos(sqrt(z)) - 1 + z / 2) / z**2


def erf_over_x(z):
    return 2 / sqrt(pi) if z < mpf(10) ** -30 else erf(sqrt(z)) / sqrt(z)


K = mpf(2)


def erfcx_of_t(t):  # t = (x - K) / (x + K); (1 + 2 x) exp(x^2) erfc(x)
    if t >= 1 - mpf(10) ** -9:
        return 2 / sqrt(pi)
    x = K * (1 + t) / (1 - t)
    if x > 60:  # asymptotic
        s, term = mpf(0), mpf(1)
        for k in range(1, 30):
            s += term
            term *= -(2 * k - 1) / (2 * x * x)
        return (1 + 2 * x) * s / (x * sqrt(pi))
    return (1 + 2 * x) * exp(x * x) * erfc(x)


def log_erfc(x):
    return -log(erfc(x))


R = ln2 / 2 * mpf("1.02")
F0, F1 = 1 / sqrt(mpf(2)) - 1, sqrt(mpf(2)) - 1
S2 = (F1 / (2 + F1)) ** 2
Z = (pi / 4) ** 2 * mpf("1.01")
tp8 = sqrt(mpf(2)) - 1

FITS = {
    "exp f64": (exp_tail, -R, R, lambda r: r * r / exp(r), 9),
    "exp f32": (exp_tail, -R, R, lambda r: r * r / exp(r), 4),
    "log f64": (log_s, 0, S2 * mpf("1.01"), lambda z: z / 2, 6),
    "log_dd f64": (log_s_rest, 0, S2 * mpf("1.01"), lambda z: z * z / 2, 7),
    "log f32": (log_tail, F0 * mpf("1.01"), F1 * mpf("1.01"), lambda f: abs(f**3 / log1p(f)) if f else f, 8),
    "atan f64": (series_at_0(odd(atan), -THIRD), 0, tp8**2 * mpf("1.01"), lambda z: z, 10),
    "asin f64": (series_at_0(odd(asin), mpf(1) / 6), 0, mpf("0.2501"), lambda z: z, 12),
    "sin f64": (series_at_0(odd(sin), -mpf(1) / 6), 0, Z, lambda z: z, 5),
    "cos f64": (cos_tail, 0, Z, lambda z: z * z, 5),
    "sin f32": (series_at_0(odd(sin), -mpf(1) / 6), 0, Z, lambda z: z, 3),
    "cos f32": (cos_tail, 0, Z, lambda z: z * z, 2),
    "tanh f64": (series_at_0(odd(tanh), -THIRD), 0, mpf("0.305"), lambda z: z, 10),
    "tanh f32": (series_at_0(odd(tanh), -THIRD), 0, mpf("0.305"), lambda z: z, 4),
    "erf f64": (erf_over_x, 0, mpf("1.01"), lambda z: mpf(1), 12),
    "erf f32": (erf_over_x, 0, mpf("1.01"), lambda z: mpf(1), 6),
    "erfc f32": (log_erfc, mpf("0.99"), mpf("4.0"), lambda x: erfc(x), 8),
    "erfcx f64": (erfcx_of_t, -1, 1, lambda t: 1 / erfcx_of_t(t), 28),
}

if __name__ == "__main__":
    for name, (f, a, b, weight, degree) in FITS.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        c, error = remez(f, a, b, degree, weight)
        print(f"{name}: [{mp.nstr(mpf(a), 6)}, {mp.nstr(mpf(b), 6)}], error 2^{mp.nstr(log(error) / ln2, 4)}")
        digits = 10 if name.endswith("f32") and not name.startswith(("sin", "cos")) else 18
        print("   ", ", ".join(mp.nstr(x, digits) for x in c))
