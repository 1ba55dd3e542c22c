"""Machine code as bytes: numba makes it once, and LLVM alone loads it from then on.

numba takes a second and 150 MB of each process to load code that it has kept. What it compiles here gets whole numbers
and floats, some of them places in memory, and gives a whole number back: that needs nothing of numba. So its code is
kept with a function for Python beside it, and nothing else of numba's.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, cast

from llvmlite import binding

#: the types of a function's arguments, in order: int and float
Takes = Sequence[type[int] | type[float]]

_NAME = "fawkes_call"
_FASTCALL = 0x80
_LLVM = {int: "i64", float: "double"}
_VALUE = {int: "i64 @PyLong_AsLongLong", float: "double @PyFloat_AsDouble"}
#: what the function for Python calls, in LLVM's language
_DECLARED = """
declare i64 @PyLong_AsLongLong(ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyErr_Occurred()
declare i32 @PyErr_BadArgument()
declare void @PyErr_BadInternalCall()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
"""
_PYTHON = [line.partition("@")[2].partition("(")[0] for line in _DECLARED.split("\n") if line]
#: how much numba optimises
_LEVEL = "NUMBA_OPT"
#: the names that numba gives to what only a process with numba has
_OF_NUMBA = ("NRT_", "numba_")
#: functions of Python that live as long as the process, with the code that they run
_ALIVE: list[object] = []


class _Method(ctypes.Structure):
    """PyMethodDef of Python's C API."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@cache
def processor() -> str:
    """16 hexadecimal digits for the kind of processor: code for one need not run on another."""
    text = f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def compiled(function: Callable[[], Callable[..., Any]], takes: Takes) -> bytes:
    """The code of a function that takes these and returns an int, for this processor; it runs without Python's lock.

    ``function`` imports what is to be compiled. No freedom with floats, so that results stay equal. TypeError for what
    needs numba when it is called, as whoever makes arrays does: without it, LLVM would end the process.
    """
    with _without_optimising():
        import numba

        kinds = {int: numba.int64, float: numba.float64}
        signature = numba.int64(*(kinds[each] for each in takes))
        made = numba.cfunc(signature, error_model="numpy")(function())
    inner = made.native_name.removeprefix("cfunc.")
    module = binding.parse_assembly(made.inspect_llvm())
    module.link_in(binding.parse_assembly(_function(inner, takes)))
    for each in module.functions:
        # What nothing calls is left out then: it needs numba.
        if not each.is_declaration and each.name != _NAME:
            each.linkage = "internal"
    machine = _machine()
    passes = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(module, passes)
    needs = [each.name for each in module.functions if each.is_declaration and each.name.startswith(_OF_NUMBA)]
    if needs:
        raise TypeError(f"{inner} needs numba when it is called, for {', '.join(needs)}")
    return cast(bytes, machine.emit_object(module))


@contextmanager
def _without_optimising() -> Iterator[None]:
    """Keeps numba from optimising each function, which takes as long as the rest: the whole is optimised at the end.

    A numba that is loaded before has begun with its own level, and does it all the same.
    """
    before = os.environ.get(_LEVEL)
    os.environ[_LEVEL] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_LEVEL]
        else:
            os.environ[_LEVEL] = before


def loaded(code: bytes) -> Callable[..., int]:
    """A function of Python for what `compiled` made; TypeError for arguments of another number or type."""
    python = ctypes.pythonapi
    machine = _machine()
    for name in _PYTHON:
        binding.add_symbol(name, ctypes.cast(getattr(python, name), ctypes.c_void_p).value)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    method = _Method(_NAME.encode(), engine.get_function_address(_NAME), _FASTCALL, None)
    _ALIVE.append((engine, method))
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_Method), ctypes.c_void_p, ctypes.c_void_p)(
        ("PyCFunction_NewEx", python)
    )
    return cast(Callable[..., int], new(ctypes.pointer(method), None, None))


def _machine() -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    features = binding.get_host_cpu_features().flatten()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(cpu=binding.get_host_cpu_name(), features=features, opt=3, jit=True)


def _function(inner: str, takes: Takes) -> str:
    """LLVM's text of a function for Python (METH_FASTCALL) that calls numba's, whose result is behind a pointer."""
    values = "\n".join(
        f"  %place{at} = getelementptr ptr, ptr %values, i64 {at}\n"
        f"  %object{at} = load ptr, ptr %place{at}\n"
        f"  %value{at} = call {_VALUE[kind]}(ptr %object{at})"
        for at, kind in enumerate(takes)
    )
    handed = "".join(f", {_LLVM[kind]} %value{at}" for at, kind in enumerate(takes))
    kinds = "".join(f", {_LLVM[kind]}" for kind in takes)
    return f"""{_DECLARED}
declare i32 @{inner}(ptr, ptr{kinds})

define ptr @{_NAME}(ptr %self, ptr %values, i64 %count) {{
  %answer = alloca i64
  %why = alloca ptr
  %right = icmp eq i64 %count, {len(takes)}
  br i1 %right, label %take, label %wrong
wrong:
  call i32 @PyErr_BadArgument()
  ret ptr null
take:
{values}
  %error = call ptr @PyErr_Occurred()
  %good = icmp eq ptr %error, null
  br i1 %good, label %run, label %raise
run:
  %lock = call ptr @PyEval_SaveThread()
  %status = call i32 @{inner}(ptr %answer, ptr %why{handed})
  call void @PyEval_RestoreThread(ptr %lock)
  %done = icmp eq i32 %status, 0
  br i1 %done, label %end, label %failed
failed:
  call void @PyErr_BadInternalCall()
  br label %raise
raise:
  ret ptr null
end:
  %value = load i64, ptr %answer
  %result = call ptr @PyLong_FromLongLong(i64 %value)
  ret ptr %result
}}
"""
