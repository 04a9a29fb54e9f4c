# SPDX-License-Identifier: Apache-2.0
"""Computes on emulated devices: every ATen operator with a CUDA kernel is served by its CPU kernel.

The emulation's device memory is host memory, so a CUDA tensor can be looked at as a CPU tensor at
the same address. install() registers, in place of each CUDA kernel, a function that waits for the
stream, calls the operator on such views, and puts new results into CUDA memory. It is global:
autograd's threads and C++ code (DDP's reducer) go through it as well. Operators that make, view,
move or share memory are left alone.
"""
import torch
from torch.utils import _pytree as pytree

KEEP = {"_copy_from", "_copy_from_and_resize", "empty", "empty_strided",
        "_empty_affine_quantized", "as_strided", "view", "_reshape_alias", "_unsafe_view", "unfold",
        "view_as_real", "view_as_complex", "set_", "resize_", "record_stream", "is_pinned",
        "_pin_memory", "_to_copy", "to", "is_set_to", "_resize_output_", "_efficientzerotensor",
        "slice", "select", "expand", "alias"}
_library = None


def _on_cpu(tensor):
    """The same memory, as a CPU tensor."""
    storage = tensor.untyped_storage()
    bytes_ = torch._C._construct_storage_from_data_pointer(
        storage.data_ptr(), torch.device("cpu"), storage.nbytes())
    view = torch.empty(0, dtype=tensor.dtype, device="cpu")
    return view.set_(bytes_, tensor.storage_offset(), tensor.size(), tensor.stride())


def _to_cuda(tensor, device):
    result = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device=device)
    return result.copy_(tensor)


def _kernel(op):
    schema = op._schema
    # Arguments of out= form may be resized, which a view of foreign memory cannot be.
    outs = {a.name for a in schema.arguments
            if a.kwarg_only and a.alias_info is not None and a.alias_info.is_write}

    def call(*args, **kwargs):
        out_ids = {id(x) for n in outs for x in pytree.tree_leaves(kwargs.get(n))}
        flat, spec = pytree.tree_flatten((args, kwargs))
        device = next((x.device for x in flat if isinstance(x, torch.Tensor) and x.is_cuda), None)
        if device is None:
            device = next((x for x in flat if isinstance(x, torch.device)), torch.device("cuda"))
        torch.cuda.current_stream(device).synchronize()
        pairs = {}  # the CPU view's identity -> (view, CUDA tensor)
        cpu = []
        for x in flat:
            if isinstance(x, torch.Tensor) and x.is_cuda:
                view = torch.empty(x.size(), dtype=x.dtype) if id(x) in out_ids else _on_cpu(x)
                pairs[id(view)] = (view, x)
                cpu.append(view)
            elif isinstance(x, torch.device) and x.type == "cuda":
                cpu.append(torch.device("cpu"))
            else:
                cpu.append(x)
        cpu_args, cpu_kwargs = pytree.tree_unflatten(cpu, spec)
        out = op(*cpu_args, **cpu_kwargs)
        for view, original in pairs.values():
            if id(original) in out_ids:
                if original.size() != view.size():
                    original.resize_(view.size())
                original.copy_(view)

        def back(x):
            if not isinstance(x, torch.Tensor):
                return x
            return pairs[id(x)][1] if id(x) in pairs else _to_cuda(x, device)
        return pytree.tree_map(back, out)
    return call


def _copy(target, source, non_blocking=False):
    device = target.device if target.is_cuda else source.device
    torch.cuda.current_stream(device).synchronize()
    to, of = (_on_cpu(x) if x.is_cuda else x for x in (target, source))
    to.copy_(of)
    return target


def install():
    """Serves CUDA's operators by CPU kernels from now on, in this process."""
    global _library
    import warnings
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    _library = torch.library.Library("aten", "IMPL")
    count = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for full in torch._C._dispatch_get_all_op_names():
            if not full.startswith("aten::") or not has(full, "CUDA"):
                continue
            if not has(full, "CPU") and not has(full, "CompositeExplicitAutograd"):
                continue
            base, _, overload = full[6:].partition(".")
            if base in KEEP:
                continue
            op = getattr(getattr(torch.ops.aten, base), overload or "default")
            _library.impl(base + ("." + overload if overload else ""), _kernel(op), "CUDA")
            count += 1
        _library.impl("copy_", _copy, "CUDA")
    return count
