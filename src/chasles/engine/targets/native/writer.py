"""Writing LLVM assembly: fresh names, blocks, loops and branches."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

#: Bytes that a function takes from the stack at most: threads may have as little as 64 KiB of it.
LARGEST_ON_STACK = 16_384
#: Bytes to whose multiples reserved memory is aligned: a vector of any processor, and a line of its cache.
ALIGNMENT = 64


class LlvmWriter:
    """Text of one LLVM function under construction."""

    def __init__(self, signature: str) -> None:
        self._signature = signature
        self._lines: list[str] = []
        self._numbers: dict[str, int] = {}
        self._vectors: dict[str, str] = {}  # with known numbers, in this block
        self._block = "entry"
        self._count = 0
        self._reserved = ""

    def emit(self, text: str) -> None:
        """Append an instruction without a result."""
        self._lines.append("  " + text)

    def value(self, text: str) -> str:
        """Append an instruction and return the name of its result."""
        self._count += 1
        name = f"%v{self._count}"
        self._lines.append(f"  {name} = {text}")
        return name

    def claim(self, address: str) -> None:
        """Let the nearest cache fetch the line at an address, to be written to; any address may be given."""
        self.emit(f"call void @llvm.prefetch.p0(ptr {address}, i32 1, i32 3, i32 1)")

    def text(self) -> str:
        """Return the finished function, and the table of its numbers if it has one."""
        lines = [f"define {self._signature} {{", "entry:"]
        if self._numbers:
            name = self._signature.partition("@")[2].partition("(")[0]
            table = f"[{len(self._numbers)} x {next(iter(self._numbers)).partition(' ')[0]}]"
            # Where the table lies is read from memory, or each number would be addressed by itself again.
            lines = [
                f"@{name}.numbers = internal constant {table} [{', '.join(self._numbers)}]",
                f"@{name}.table = internal global ptr @{name}.numbers",
                *lines,
                f"  %numbers = load ptr, ptr @{name}.table",
            ]
        return "\n".join([*lines, *self._lines, "}", ""])

    def repeated(self, element: str, lanes: int, value: float) -> str:
        """Return a vector with a known number in every lane, read from a table of the function.

        Code that may lie anywhere in memory needs one more instruction for each constant that is not in a table, which
        spells its address in full. The numbers of a table are all of one type.
        """
        number = f"{element} {literal(value)}"
        if number not in self._vectors:
            position = self._numbers.setdefault(number, len(self._numbers))
            place = self.value(f"getelementptr {element}, ptr %numbers, i64 {position}")
            single = self.value(f"load {element}, ptr {place}, !invariant.load !{{}}")
            self._vectors[number] = self.splat(element, lanes, single)
        return self._vectors[number]

    def splat(self, element: str, lanes: int, number: str) -> str:
        """Return a vector with a number in every lane."""
        v = f"<{lanes} x {element}>"
        single = self.value(f"insertelement {v} undef, {element} {number}, i32 0")
        return self.value(f"shufflevector {v} {single}, {v} undef, <{lanes} x i32> zeroinitializer")

    def block(self, name: str) -> None:
        """Begin a block."""
        self._lines.append(f"{name}:")
        self._block = name
        self._vectors.clear()

    @contextmanager
    def loop(self, count: str | int, step: int = 1) -> Iterator[str]:
        """Repeat what is written inside for i = 0, step, 2 step, … below count; yields the name of i."""
        with self.fold(count, step, "", []) as (i, _):
            yield i

    @contextmanager
    def fold(self, count: str | int, step: int, kind: str, values: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
        """Write a loop as `loop` does that carries values of a type from round to round; yields i and their names.

        The body replaces the names in the list by those for the next round; after the loop it holds the last ones.
        """
        self._count += 1
        k, before = self._count, self._block
        carried = [f"%carried{k}.{position}" for position in range(len(values))]
        self.emit(f"br label %head{k}")
        self.block(f"head{k}")
        self.emit(f"%i{k} = phi i64 [0, %{before}], [%next{k}, %latch{k}]")
        for name, value in zip(carried, values, strict=True):
            self.emit(f"{name} = phi {kind} [{value}, %{before}], [{name}.next, %latch{k}]")
        goes_on = self.value(f"icmp slt i64 %i{k}, {count}")
        self.emit(f"br i1 {goes_on}, label %body{k}, label %exit{k}")
        self.block(f"body{k}")
        names = list(carried)
        yield f"%i{k}", names
        self.emit(f"br label %latch{k}")
        self.block(f"latch{k}")
        for name, value in zip(carried, names, strict=True):
            self.emit(f"{name}.next = bitcast {kind} {value} to {kind}")
        self.emit(f"%next{k} = add i64 %i{k}, {step}")
        self.emit(f"br label %head{k}")
        self.block(f"exit{k}")
        names[:] = carried

    @contextmanager
    def loop_while_positive(self, counter: str) -> Iterator[None]:
        """Repeat what is written inside while the i64 in memory at ``counter`` is positive."""
        self._count += 1
        k = self._count
        self.emit(f"br label %head{k}")
        self.block(f"head{k}")
        remaining = self.value(f"load i64, ptr {counter}")
        goes_on = self.value(f"icmp sgt i64 {remaining}, 0")
        self.emit(f"br i1 {goes_on}, label %body{k}, label %exit{k}")
        self.block(f"body{k}")
        yield
        self.emit(f"br label %head{k}")
        self.block(f"exit{k}")

    @contextmanager
    def when(self, condition: str, *, returns: bool = False) -> Iterator[None]:
        """Do what is written inside only if the i1 ``condition`` holds; ``returns`` if that leaves the function."""
        self._count += 1
        k = self._count
        self.emit(f"br i1 {condition}, label %then{k}, label %after{k}")
        self.block(f"then{k}")
        yield
        if not returns:
            self.emit(f"br label %after{k}")
        self.block(f"after{k}")

    @contextmanager
    def unless(self, condition: str) -> Iterator[None]:
        """Do what is written inside only if the i1 ``condition`` does not hold."""
        with self.when(self.value(f"xor i1 {condition}, true")):
            yield

    def go_on_if(self, condition: str, otherwise: str) -> None:
        """Go on if the i1 ``condition`` holds, else jump to the block ``otherwise``."""
        self._count += 1
        self.emit(f"br i1 {condition}, label %on{self._count}, label %{otherwise}")
        self.block(f"on{self._count}")

    def return_if(self, condition: str, result: str) -> None:
        """Return if the i1 ``condition`` holds."""
        self._count += 1
        k = self._count
        self.emit(f"br i1 {condition}, label %leave{k}, label %stay{k}")
        self.block(f"leave{k}")
        self.emit(f"ret {result}")
        self.block(f"stay{k}")

    def reserve(self, size: int, on_failure: Callable[[], None]) -> str:
        """Reserve bytes on the stack, or on the heap if they are many, and return their address.

        The function that is written must reserve once and call `release` before it returns.

        Parameters
        ----------
        size
            Number of bytes.
        on_failure
            Writes what to do where there is no memory, and leaves the function.
        """
        if size <= LARGEST_ON_STACK:
            return self.value(f"alloca [{max(size, ALIGNMENT)} x i8], align {ALIGNMENT}")
        self._reserved = self.value(f"call ptr @malloc(i64 {size + ALIGNMENT})")
        with self.when(self.value(f"icmp eq ptr {self._reserved}, null"), returns=True):
            on_failure()
        end = self.value(f"ptrtoint ptr {self._reserved} to i64")
        end = self.value(f"and i64 {self.value(f'add i64 {end}, {ALIGNMENT}')}, {-ALIGNMENT}")
        return self.value(f"inttoptr i64 {end} to ptr")

    def release(self) -> None:
        """Give back what was reserved."""
        if self._reserved:
            self.emit(f"call void @free(ptr {self._reserved})")

    def address(self, base: str, *terms: tuple[str | int, str | int]) -> str:
        """Return base + Σ index · stride, in bytes."""
        for index, stride in terms:
            offset = self.value(f"mul i64 {index}, {stride}")
            base = self.value(f"getelementptr i8, ptr {base}, i64 {offset}")
        return base


def literal(value: float) -> str:
    """Return a floating-point constant as LLVM writes it, exact to the bit."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
