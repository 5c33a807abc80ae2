"""`python -m benchmarks`: every benchmark there is."""

from .host_cost import main

main()
