"""The random seeds of a task: no two attempts at any of its pieces have the same one."""

from __future__ import annotations

import hashlib

SEEDS = 899_999_999
ATTEMPTS = 300  # of a piece that are told apart; so there may be 3,000,000 pieces
IN_A_TEST = 1000  # pieces of a test that are told apart
HALF = 15  # bits of each half of a number below 2**30, which is more than SEEDS
MASK = (1 << HALF) - 1


def seed_of(nonce: str, piece: int, attempt: int) -> int:
    """Return the seed of an attempt: a bijection of (piece, attempt), attempts counted from 1.

    A hash of the two would give equal seeds in every other task of 40,000 pieces. This is a cipher instead, whose key
    is the nonce of the task; a number outside of the range is enciphered again, until it is inside.
    """
    number = (piece * ATTEMPTS + (attempt - 1) % ATTEMPTS) % SEEDS
    while True:
        number = _enciphered(nonce, number)
        if number < SEEDS:
            return number + 1


def of_test(test: int, piece: int) -> int:
    """Return a number for a piece of a test that no piece of its task has: its attempts have other seeds."""
    return SEEDS // ATTEMPTS - 1 - test * IN_A_TEST - piece % IN_A_TEST


def _enciphered(nonce: str, number: int) -> int:
    """Return another number below 2**30, by a Feistel network of four rounds; no two give the same."""
    left, right = number >> HALF, number & MASK
    for turn in range(4):
        text = f"{nonce}\0{turn}\0{right}".encode()
        left, right = right, left ^ (int.from_bytes(hashlib.sha256(text).digest()[:4]) & MASK)
    return left << HALF | right
