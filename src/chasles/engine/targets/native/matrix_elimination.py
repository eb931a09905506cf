"""Elimination in machine code: S = L D Lᵀ, rows in registers, block after block."""

from __future__ import annotations

from typing import NamedTuple

from chasles.engine.targets.native.matrix_writer import Columns, MatrixWriter, View
from chasles.engine.targets.native.writer import literal


class Factors(NamedTuple):
    """Rows that are eliminated.

    Attributes
    ----------
    rows
        L⁻¹ [S F].
    multiples
        -D⁻¹ L⁻¹ [S F].
    right
        -D⁻¹ L⁻¹ F, in memory of its own: loads of what a store wrote in one piece do not wait for the store.
    """

    rows: View
    multiples: View
    right: View


def eliminate_block(
    writer: MatrixWriter, vectors: list[str], rows: range, columns: list[Columns], count: int, factors: Factors
) -> None:
    """Eliminate a block of rows from themselves, which those before are eliminated from already; store both factors."""
    width = len(columns)
    block = [vectors[k : k + width] for k in range(0, len(vectors), width)]
    nan = literal(float("nan"))
    pivot = writer.entry(block[0][rows.start // writer.lanes], rows.start % writer.lanes)
    for p, (row, position) in enumerate(zip(block, rows, strict=True)):
        positive = writer.value(f"fcmp ogt double {pivot}, 0.0")
        factor = writer.value(f"fdiv double {literal(-1.0)}, {pivot}")
        factor = writer.value(f"select i1 {positive}, double {factor}, double {nan}")
        if p + 1 < len(block):  # alone and at once: the next division waits for nothing else
            vector, lane = divmod(position + 1, writer.lanes)
            above, below = (writer.entry(block[q][vector], lane) for q in (p, p + 1))
            square = writer.value(f"fmul double {above}, {above}")
            pivot = writer.value(f"call double @llvm.fma.f64(double {square}, double {factor}, double {below})")
        factor = writer.splat("double", writer.lanes, factor)
        multiples = [writer.value(f"fmul {writer.real} {vector}, {factor}") for vector in row]
        for q in range(p + 1, len(block)):
            share = writer.repeated_lane(row, rows[q])
            for k in range(rows[p + 1] // writer.lanes, width):
                block[q][k] = writer.fma(share, multiples[k], block[q][k])
        writer.store(row, factors.rows, position, columns)
        writer.store(multiples, factors.multiples, position, columns)
        right = writer.partition(columns[-1].first + columns[-1].size - count)
        writer.store([writer.shifted(multiples, count + part.first) for part in right], factors.right, position, right)


def solve_block(
    writer: MatrixWriter, vectors: list[str], rows: range, multiples: View, solution: View, columns: list[Columns]
) -> None:
    """Solve a block of rows of -Lᵀ X = -D⁻¹ L⁻¹ F, from which those after are eliminated already; store X."""
    width = len(columns)
    negative = [vectors[k : k + width] for k in range(0, len(vectors), width)]
    for p in reversed(range(len(rows))):
        for q in range(p):
            number = writer.value(f"load double, ptr {writer.at(multiples, rows[q], rows[p])}")
            share = writer.splat("double", writer.lanes, number)
            negative[q] = [writer.fma(share, x, total) for x, total in zip(negative[p], negative[q], strict=True)]
        writer.store(writer.scaled(negative[p], -1.0), solution, rows[p], columns)
