"""The vocabulary: frozen dataclasses with validation, no algorithm.

The private half (snapshot, plan, trace, publication, ledger) and the public half are
different modules, so that an import rule can keep an adversary away from the truth.
"""
