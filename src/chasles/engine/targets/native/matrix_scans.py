"""Scans over matrices in machine code: the loops over samples and steps around the expressions of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chasles.engine.matrices.scan import MatrixScan, WrittenStep
from chasles.engine.matrices.steps import Matrix
from chasles.engine.targets.native.machine import is_x86
from chasles.engine.targets.native.matrix_expressions import ExpressionWriter
from chasles.engine.targets.native.matrix_writer import ITEM, MatrixWriter, View
from chasles.engine.targets.native.writer import ALIGNMENT

#: Name of the function with the loops.
ENTRY = "chasles_matrix_scans"
#: Lines of the cache that are fetched without a loop.
_LINES_WRITTEN_OUT = 64
_AARCH64_ALL_EXCEPTIONS = 0x1F
_FUNCTIONS = [
    "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
    "declare ptr @malloc(i64)",
    "declare void @free(ptr)",
    "declare i32 @PyGILState_Ensure()",
    "declare ptr @PyErr_NoMemory()",
    "declare void @PyGILState_Release(i32)",
]
_FLAG_FUNCTIONS = {
    True: ["declare void @llvm.x86.sse.stmxcsr(ptr)", "declare void @llvm.x86.sse.ldmxcsr(ptr)"],
    False: ["declare i32 @feclearexcept(i32)"],
}


def write_matrix_scans(scans: Sequence[MatrixScan], arrays: Mapping[str, int], lanes: int) -> str:
    """Return the LLVM assembly of scans that run one after another over each sample.

    Parameters
    ----------
    scans
        Scans.
    arrays
        Names of all arrays in the order of the call, and their numbers of core axes: 3 where the first is the step.
    lanes
        Numbers in a vector.
    """
    return _ScansWriter(arrays, lanes).module(scans)


class _ScansWriter(MatrixWriter):
    def __init__(self, arrays: Mapping[str, int], lanes: int) -> None:
        super().__init__(f"void @{ENTRY}(ptr %args, ptr %dims, ptr %steps, ptr %data)", lanes)
        self._flags = self._kept_flags()
        count = len(arrays)
        self._bases = {name: self._word("ptr", "%args", k) for k, name in enumerate(arrays)}
        self._strides = {name: self._word("i64", "%steps", k) for k, name in enumerate(arrays)}
        self._step_strides: dict[str, str] = {}
        for name, axes in arrays.items():
            if axes == 3:
                self._step_strides[name] = self._word("i64", "%steps", count)
            count += axes
        self._samples, self._steps = self._word("i64", "%dims", 0), self._word("i64", "%dims", 1)
        self._before_scratch = len(self._lines)
        self.emit("br label %work")
        self.block("work")

    def module(self, scans: Sequence[MatrixScan]) -> str:
        """Return the whole module."""
        with self.loop(self._samples) as sample:
            for scan in scans:
                self._write_scan(scan, sample)
        self._restore_flags()
        self._reserve_scratch()
        self.release()
        self.emit("ret void")
        return "\n".join([*_FUNCTIONS, *_FLAG_FUNCTIONS[is_x86()], *self.declared(), self.text()])

    def _write_scan(self, scan: MatrixScan, sample: str) -> None:
        first = {name: self.address(self._bases[name], (sample, self._strides[name])) for name in scan.at_each_step}
        place, next_place = self.new_matrix(*scan.state), self.new_matrix(*scan.state)
        start = self.address(self._bases[scan.start], (sample, self._strides[scan.start]))
        self.copy(_dense(start, scan.state), place, *scan.state)
        with self.loop(self._steps) as i:
            k = self.value(f"sub i64 {self.value(f'sub i64 {self._steps}, 1')}, {i}") if scan.backward else i
            now = {}
            for name, shape in scan.at_each_step.items():
                address, stride = self.address(first[name], (k, self._step_strides[name])), self._step_strides[name]
                now[name] = _dense(address, shape)
                if name in scan.given:
                    with self.when(self.value(f"icmp ne i64 {stride}, 0")):
                        self._fetch_next(address, stride, shape[0] * shape[1], scan.backward)
            is_known = self.value(f"fcmp ord double {self.value(f'load double, ptr {place.address}')}, 0.0")
            with self.when(is_known):
                self._write_step(scan.written, now, place, next_place)
            with self.unless(is_known):
                for name, value in scan.written.samples.items():
                    self._fill(now[name], *value.shape)
        if scan.end:
            end = self.address(self._bases[scan.end], (sample, self._strides[scan.end]))
            self.copy(place, _dense(end, scan.state), *scan.state)

    def _write_step(self, step: WrittenStep, now: Mapping[str, View], place: View, next_place: View) -> None:
        """Write a step: samples first, and the next state over the present one, if that is needed no more."""
        state, given, following, samples = step
        known: dict[Matrix, View] = {state: place, **{value: now[name] for name, value in given.items()}}
        expressions = ExpressionWriter(self, known, [following, *samples.values()])
        for name, value in samples.items():
            if value is not following:
                expressions.write(value, now[name])
        if expressions.reads(following, state):
            expressions.write(following, next_place)
            self.copy(next_place, place, *state.shape)
        else:
            expressions.write(following, place)
        for name, value in samples.items():
            if value is following:
                self.copy(place, now[name], *state.shape)

    def _fill(self, view: View, rows: int, columns: int) -> None:
        """Fill a matrix with NaN: what follows a state that is NaN need not be computed."""
        if columns == 1:
            view, rows, columns = view.mT, 1, rows
        parts, nan = self.partition(columns), self.repeated("double", self.lanes, float("nan"))
        with self.loop(rows) as row:
            self.store([nan] * len(parts), view, row, parts)

    def _fetch_next(self, matrix: str, stride: str, size: int, backward: bool) -> None:
        """Have the matrix of the next step fetched into the cache; an address outside of an array does no harm."""
        offset = self.value(f"sub i64 0, {stride}") if backward else stride
        first = self.value(f"getelementptr i8, ptr {matrix}, i64 {offset}")
        lines = range(0, size * ITEM, ALIGNMENT)
        if len(lines) > _LINES_WRITTEN_OUT:
            with self.loop(size * ITEM, ALIGNMENT) as line:
                self._fetch(self.address(first, (line, 1)))
        else:
            for known in lines:
                self._fetch(self.address(first, (known, 1)))

    def _fetch(self, address: str) -> None:
        self.emit(f"call void @llvm.prefetch.p0(ptr {address}, i32 0, i32 3, i32 1)")

    def _word(self, kind: str, base: str, position: int) -> str:
        return self.value(f"load {kind}, ptr {self.address(base, (position, ITEM))}")

    def _kept_flags(self) -> str:
        """Keep floating-point flags: NumPy must not warn of what NaN raises."""
        flags = self.value("alloca i32")
        if is_x86():
            self.emit(f"call void @llvm.x86.sse.stmxcsr(ptr {flags})")
        return flags

    def _restore_flags(self) -> None:
        if is_x86():
            self.emit(f"call void @llvm.x86.sse.ldmxcsr(ptr {self._flags})")
        else:
            self.value(f"call i32 @feclearexcept(i32 {_AARCH64_ALL_EXCEPTIONS})")

    def _reserve_scratch(self) -> None:
        """Write, before all that uses it, how the memory of matrices is reserved: its size is known now."""
        written = self._lines
        self._lines = []
        scratch = self.reserve(self.scratch_size, self._leave_without_memory)
        self._lines.append(f"  %scratch = getelementptr i8, ptr {scratch}, i64 0")
        self._lines = [*written[: self._before_scratch], *self._lines, *written[self._before_scratch :]]

    def _leave_without_memory(self) -> None:
        """Raise `MemoryError`, for which Python's global lock must be taken first."""
        lock = self.value("call i32 @PyGILState_Ensure()")
        self.value("call ptr @PyErr_NoMemory()")
        self.emit(f"call void @PyGILState_Release(i32 {lock})")
        self.emit("ret void")


def _dense(address: str, shape: tuple[int, int]) -> View:
    return View(address, shape[1] * ITEM, ITEM, False)
