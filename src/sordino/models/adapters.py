"""LoRA through peft: where adapters go, and the folder they are kept in.

    FOLDER/encoder/    peft adapter; PeftModel.from_pretrained(whisper_encoder, FOLDER/encoder) loads it
    FOLDER/decoder/    peft adapter; PeftModel.from_pretrained(llama, FOLDER/decoder) loads it
    FOLDER/connector.safetensors

Source: Hu et al., LoRA (arXiv 2106.09685).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import nn

from sordino._check import did_you_mean
from sordino.errors import ConfigError
from sordino.models.checkpoints import reading
from sordino.models.options import LoraOptions
from sordino.records import replace_file

if TYPE_CHECKING:
    from sordino.models.speech_llm import SpeechLLM

__all__ = ["add_lora", "load_adapter", "save_adapter"]

_LAYERS: Final[Mapping[str, str]] = {"encoder": "layers", "decoder": "model.layers"}
"""Path of the list of layers inside each adapted part."""

_PEFT_PREFIX: Final = "base_model.model."


def add_lora(part: nn.Module, *, component: str, targets: Sequence[str], options: LoraOptions) -> None:
    """Freezes ``part`` and puts adapters on its targets, in place; B starts at zero, so the output is unchanged.

    Targets are matched by their full path: ``layers.N.<target>`` in the encoder, ``model.layers.N.<target>`` in the
    decoder.

    Args:
        part: Whisper encoder or Llama.
        component: ``encoder`` or ``decoder``.
        targets: paths inside one layer, e.g. ``self_attn.q_proj``; none leaves the part frozen.
        options: rank, scale, dropout, and whether A is trained.

    Raises:
        ConfigError: a target that is no linear layer of the part, with the nearest one.
    """
    from peft import LoraConfig, inject_adapter_in_model

    part.requires_grad_(requires_grad=False)
    if not targets:
        return
    layers = _LAYERS[component]
    _check_targets(part, layers, component, targets)
    pattern = rf"{re.escape(layers)}\.\d+\.({'|'.join(re.escape(target) for target in targets)})"
    config = LoraConfig(
        r=options.rank,
        lora_alpha=options.alpha,  # type: ignore[arg-type]
        lora_dropout=options.dropout,
        target_modules=pattern,
        task_type="CAUSAL_LM" if component == "decoder" else None,
        inference_mode=False,
    )
    on_meta = next(part.parameters()).is_meta
    inject_adapter_in_model(config, part, low_cpu_mem_usage=on_meta)
    for name, tensor in part.named_parameters():
        tensor.requires_grad_("lora_B." in name or ("lora_A." in name and options.train == "both"))


def _check_targets(part: nn.Module, layers: str, component: str, targets: Sequence[str]) -> None:
    inside = re.compile(rf"{re.escape(layers)}\.\d+\.(.+)")
    paths = ((inside.fullmatch(name), module) for name, module in part.named_modules())
    known = list(dict.fromkeys(match.group(1) for match, module in paths if match and isinstance(module, nn.Linear)))
    for target in targets:
        if target not in known:
            raise ConfigError(
                f"model.lora.{component}_targets: {target!r} is no linear layer of the {component}"
                f"{did_you_mean(target, known)}; choose among {', '.join(known)}."
            )


def _adapter_tensors(part: nn.Module) -> dict[str, torch.Tensor]:
    """A and B of every target by the names peft gives them in a file."""
    return {
        _PEFT_PREFIX + name.replace(".default.", "."): tensor
        for name, tensor in part.named_parameters()
        if ".lora_A." in name or ".lora_B." in name
    }


def _saved_config(part: Any) -> Any:
    return getattr(part, "peft_config", {}).get("default")


def save_adapter(model: SpeechLLM, folder: Path) -> None:
    """Writes encoder and decoder adapters in peft's layout, and the connector.

    Args:
        model: what to save.
        folder: made if absent; files of the same names are replaced, each as a whole or not at all.
    """
    from safetensors.torch import save

    folder.mkdir(parents=True, exist_ok=True)
    for component in _LAYERS:
        part = getattr(model, component)
        config = _saved_config(part)
        if config is not None:
            target = folder / component
            target.mkdir(exist_ok=True)
            config.save_pretrained(str(target))
            content = save(_detached(_adapter_tensors(part)), {"format": "pt"})
            replace_file(target / "adapter_model.safetensors", content)
    replace_file(folder / "connector.safetensors", save(_detached(model.connector.state_dict()), {"format": "pt"}))


def _detached(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}


def load_adapter(model: SpeechLLM, folder: Path) -> None:
    """Reads what `save_adapter` wrote, to the bit; the flat vector follows.

    Args:
        model: made with the options of the one that was saved.
        folder: holds ``encoder/``, ``decoder/`` and ``connector.safetensors``.

    Raises:
        ConfigError: a file missing or unreadable, other tensors or shapes, or another rank or scale than the model's.
    """
    from peft import PeftConfig

    if not folder.is_dir():
        raise ConfigError(f"{folder} does not exist; name the model/ folder of a run that is finished.")
    for component in _LAYERS:
        part = getattr(model, component)
        config, source = _saved_config(part), folder / component
        if (config is not None) != source.is_dir():
            found = "an" if source.is_dir() else "no"
            raise ConfigError(
                f"{folder} holds {found} adapter for the {component}, unlike the model; "
                "make the model with the [model] options of the saved run."
            )
        if config is None:
            continue
        saved = reading("adapter", str(source), partial(PeftConfig.from_pretrained, str(source)))
        for key in ("r", "lora_alpha"):
            if getattr(saved, key) != getattr(config, key):
                raise ConfigError(
                    f"{source} was saved with {key} = {getattr(saved, key)}, the model has {getattr(config, key)}; "
                    "make the model with the [model.lora] options of the saved run."
                )
        copy_tensors(_adapter_tensors(part), source / "adapter_model.safetensors")
    copy_tensors(model.connector.state_dict(), folder / "connector.safetensors")


@torch.no_grad()
def copy_tensors(into: Mapping[str, torch.Tensor], path: Path) -> None:
    """Copies a safetensors file into tensors of the same names and shapes, in place.

    Raises:
        ConfigError: file missing or unreadable, or names and shapes that differ.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        saved = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ConfigError(f"{path} cannot be read ({error}); name a folder that holds a complete model.") from None
    ours, theirs = ({name: tuple(t.shape) for name, t in tensors.items()} for tensors in (into, saved))
    if ours != theirs:
        odd = sorted(set(ours.items()) ^ set(theirs.items()))[0][0]
        raise ConfigError(
            f"{path}: tensor {odd!r} has shape {theirs.get(odd)}, expected {ours.get(odd)}; "
            "make the model with the [model] options that were saved."
        )
    for name, tensor in into.items():
        tensor.copy_(saved[name])
