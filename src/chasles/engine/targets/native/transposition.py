"""Moving samples that lie densely in memory: whole rows at a time, turned into vectors of lanes by a transposition.

Gathering numbers one by one costs as much as the dynamics of a robot. Where the numbers of a sample are neighbours, a
block of as many of them as there are lanes is read from each sample at once; transposing this square block gives one
vector for each number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chasles.engine.targets.native.module import LlvmModule
from chasles.engine.targets.native.writer import LlvmWriter

#: A remainder of so few numbers is cheaper to move one by one.
_WORTH_A_BLOCK = 3


def declarations(module: LlvmModule) -> list[str]:
    """Return the intrinsics used here."""
    half = module.lanes // 2
    parts = ((module.lanes, "store", ""), (half, "load", f", <{half} x {module.element}>"))
    texts = []
    for lanes, name, default in parts:
        v, mask = f"<{lanes} x {module.element}>", f"<{lanes} x i1>"
        suffix = f"v{lanes}f{8 * module.item_size}.p0"
        given = f"ptr, i32, {mask}" if name == "load" else f"{v}, ptr, i32, {mask}"
        texts.append(f"declare {v if name == 'load' else 'void'} @llvm.masked.{name}.{suffix}({given}{default})")
    return texts


def transposed(w: LlvmWriter, lanes: int, v: str, rows: Sequence[str], up_to: int | None = None) -> list[str]:
    """Transpose a square block of vectors: 2 × 2 blocks of size 1, 2, 4, … below ``up_to`` change places in turn."""
    block = list(rows)
    size = 1
    while size < (up_to or lanes):
        for i in range(len(block)):
            if i & size:
                continue
            a, b = block[i], block[i | size]
            upper = [lanes + j - size if j & size else j for j in range(lanes)]
            lower = [lanes + j if j & size else j + size for j in range(lanes)]
            for place, picks in ((i, upper), (i | size, lower)):
                order = ", ".join(f"i32 {k}" for k in picks)
                block[place] = w.value(f"shufflevector {v} {a}, {v} {b}, <{lanes} x i32> <{order}>")
        size *= 2
    return block


def gathered(w: LlvmWriter, module: LlvmModule, rows: Sequence[str], count: int | None = None) -> list[str]:
    """Return the columns of the square block that stands at the addresses of its rows, or the first ``count`` of them.

    The largest blocks change places while they are read: joining halves from memory takes no shuffle.
    """
    half, item = module.lanes // 2, module.item_size
    part = f"<{half} x {module.element}>"
    order = ", ".join(f"i32 {k}" for k in range(module.lanes))
    wanted = module.lanes if count is None else count
    block = []
    for first in range(0, wanted, half):
        halves = []
        for row in rows:
            address = w.value(f"getelementptr i8, ptr {row}, i64 {first * item}")
            if wanted - first >= half:
                halves.append(w.value(f"load {part}, ptr {address}, align 1"))
            else:
                intrinsic = f"@llvm.masked.load.v{half}f{8 * item}.p0"
                mask = _mask(half, wanted - first)
                halves.append(w.value(f"call {part} {intrinsic}(ptr {address}, i32 1, {mask}, {part} undef)"))
        for upper, lower in zip(halves[:half], halves[half:], strict=True):
            block.append(w.value(f"shufflevector {part} {upper}, {part} {lower}, <{module.lanes} x i32> <{order}>"))
    return transposed(w, module.lanes, module.real, block, half)[:wanted]


def load(w: LlvmWriter, module: LlvmModule, rows: Sequence[str], size: int, buffer: str, position: int) -> None:
    """Read ``size`` neighbouring numbers of each row into vectors of a buffer from ``position`` on."""
    v, item = module.real, module.item_size

    def block(first: str | int, count: int) -> None:
        addresses = [w.address(row, (first, item)) for row in rows]
        for k, vector in enumerate(gathered(w, module, addresses, count)):
            place = w.address(buffer, (w.value(f"add i64 {first}, {position + k}"), module.vector_size))
            w.emit(f"store {v} {vector}, ptr {place}")

    def single(k: int) -> None:
        vector = "undef"
        for lane, row in enumerate(rows):
            address = w.value(f"getelementptr i8, ptr {row}, i64 {k * item}")
            number = w.value(f"load {module.element}, ptr {address}, align 1")
            vector = w.value(f"insertelement {v} {vector}, {module.element} {number}, i32 {lane}")
        w.emit(f"store {v} {vector}, ptr {w.address(buffer, (position + k, module.vector_size))}")

    _in_blocks(w, size, module.lanes, block, single)


def store(w: LlvmWriter, module: LlvmModule, rows: Sequence[str], size: int, buffer: str, position: int) -> None:
    """Write vectors of a buffer from ``position`` on to ``size`` neighbouring numbers of each row."""
    lanes, v, item = module.lanes, module.real, module.item_size

    def block(first: str | int, count: int) -> None:
        vectors = []
        for k in range(lanes):
            if k >= count:
                vectors.append("undef")
                continue
            place = w.address(buffer, (w.value(f"add i64 {first}, {position + k}"), module.vector_size))
            vectors.append(w.value(f"load {v}, ptr {place}"))
        offset = w.value(f"mul i64 {first}, {item}")
        for row, numbers in zip(rows, transposed(w, lanes, v, vectors), strict=True):
            address = w.value(f"getelementptr i8, ptr {row}, i64 {offset}")
            if count == lanes:
                w.emit(f"store {v} {numbers}, ptr {address}, align 1")
            else:
                intrinsic = f"@llvm.masked.store.v{lanes}f{8 * item}.p0"
                w.emit(f"call void {intrinsic}({v} {numbers}, ptr {address}, i32 1, {_mask(lanes, count)})")

    def single(k: int) -> None:
        vector = w.value(f"load {v}, ptr {w.address(buffer, (position + k, module.vector_size))}")
        for lane, row in enumerate(rows):
            number = w.value(f"extractelement {v} {vector}, i32 {lane}")
            address = w.value(f"getelementptr i8, ptr {row}, i64 {k * item}")
            w.emit(f"store {module.element} {number}, ptr {address}, align 1")

    _in_blocks(w, size, lanes, block, single)


def store_few(w: LlvmWriter, module: LlvmModule, rows: Sequence[str], addresses: Sequence[str]) -> None:
    """Write the vectors at some addresses, fewer than there are lanes, to as many neighbouring numbers of each row."""
    lanes, v, item = module.lanes, module.real, module.item_size
    if len(addresses) >= _WORTH_A_BLOCK:
        intrinsic = f"@llvm.masked.store.v{lanes}f{8 * item}.p0"
        block = gathered(w, module, [*addresses, *[addresses[-1]] * (lanes - len(addresses))])
        for row, numbers in zip(rows, block, strict=True):
            w.emit(f"call void {intrinsic}({v} {numbers}, ptr {row}, i32 1, {_mask(lanes, len(addresses))})")
        return
    vectors = [w.value(f"load {v}, ptr {place}") for place in addresses]
    for k, vector in enumerate(vectors):
        for lane, row in enumerate(rows):
            number = w.value(f"extractelement {v} {vector}, i32 {lane}")
            address = w.value(f"getelementptr i8, ptr {row}, i64 {k * item}")
            w.emit(f"store {module.element} {number}, ptr {address}, align 1")


def _in_blocks(
    w: LlvmWriter,
    size: int,
    lanes: int,
    block: Callable[[str | int, int], None],
    single: Callable[[int], None],
) -> None:
    whole = size - size % lanes
    if whole == lanes:
        block(0, lanes)
    elif whole:
        with w.loop(whole, lanes) as first:
            block(first, lanes)
    if size - whole >= _WORTH_A_BLOCK:
        block(whole, size - whole)
    else:
        for k in range(whole, size):
            single(k)


def _mask(lanes: int, count: int) -> str:
    return f"<{lanes} x i1> <{', '.join('i1 true' if k < count else 'i1 false' for k in range(lanes))}>"
