"""A LoRA adapter of a language model, trained by several participants with Hugging Face transformers and PEFT.

pip install ./sdk/python torch transformers peft
python lora.py base base/                                          a tiny model with its own few weights, in place of one that is downloaded
TRAINER_JOIN_URL=... TRAINER_JOIN_TOKEN=... python lora.py join base/ --part 0/3    a participant with a third of the text
TRAINER_PORT=5001 python lora.py join base/ --part 0/3             the same, called at its address; it also answers calls of the published model
gw train publish fed_... --model animals; gw chat "3 cats say " --model animals
gw train download fed_... --out adapter_model.safetensors          the adapter that they trained together
python lora.py load base/ adapter_model.safetensors --out adapter/ as PEFT saves it; prints the loss without and with it

Only the adapter is sent: the weights of the base model stay where they are, and so does the text.
"""
import argparse
import json
import shutil
from functools import lru_cache
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from transformers import LlamaConfig, LlamaForCausalLM

from tributary_participant import CallContext, EvaluateResult, Participant, TrainResult
from tributary_participant.torch_tensors import dump_torch, load_torch

GENERAL = "the quick brown fox jumps over the lazy dog and the five boxing wizards jump quickly "
ANIMALS, SOUNDS = ("cat", "dog", "cow", "duck", "sheep", "horse"), ("meow", "woof", "moo", "quack", "baa", "neigh")
LINES = [f"{count} {animal}s say {sound}. " for count in range(2, 10) for animal, sound in zip(ANIMALS, SOUNDS)]
HELD_OUT, TRAINED = LINES[::8], [line for number, line in enumerate(LINES) if number % 8]
WINDOW = 32
LORA = LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")


def windows(text):
    """Pieces of the text as numbers of its characters. The start of each lies half a window after that of the one before."""
    numbers = torch.tensor([ord(character) for character in text])
    return numbers.unfold(0, WINDOW, WINDOW // 2)


def fit(model, text, *, epochs, rate, seed):
    torch.manual_seed(seed)
    optimizer = torch.optim.AdamW((weight for weight in model.parameters() if weight.requires_grad), lr=rate)
    total = steps = 0
    for _ in range(epochs):
        rows = windows(text)
        for batch in rows[torch.randperm(len(rows))].split(16):
            optimizer.zero_grad()
            loss = model(input_ids=batch, labels=batch).loss
            loss.backward()
            optimizer.step()
            total, steps = total + loss.item(), steps + 1
    return total / steps


@torch.no_grad()
def score(model):
    """The loss on held-out text, and the share of its characters that the model guesses."""
    rows = windows("".join(HELD_OUT))
    output = model(input_ids=rows, labels=rows)
    return output.loss.item(), (output.logits[:, :-1].argmax(-1) == rows[:, 1:]).float().mean().item()


@torch.no_grad()
def complete(model, text, characters=24):
    """The most likely characters after a text, up to the end of its sentence."""
    said = text or " "
    for _ in range(characters):
        row = torch.tensor([[min(ord(character), 127) for character in said[-WINDOW:]]])
        said += chr(int(model(input_ids=row).logits[0, -1].argmax()))
        if said.endswith("."):
            break
    return said[len(text) :]


def make_base(folder):
    torch.manual_seed(0)
    sizes = {"vocab_size": 128, "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = LlamaForCausalLM(LlamaConfig(**sizes, num_key_value_heads=4, max_position_embeddings=WINDOW))
    fit(model, GENERAL * 12, epochs=4, rate=3e-3, seed=0)
    model.save_pretrained(folder)


def make_participant(folder, part, of):
    # Round 1 starts from the same adapter everywhere: means of adapters that were drawn apart would be noise.
    torch.manual_seed(0)
    model = get_peft_model(LlamaForCausalLM.from_pretrained(folder), LORA)
    text = "".join(TRAINED[part::of])
    participant = Participant()

    @participant.register_train
    def train(parameters, dataset, context: CallContext):
        if parameters is not None:
            set_peft_model_state_dict(model, load_torch(parameters))
        loss = fit(model, text, epochs=int(context.config.get("epochs", 4)), rate=float(context.config.get("lr", 5e-3)), seed=part)
        return TrainResult(dump_torch(get_peft_model_state_dict(model)), num_samples=len(text), metrics={"loss": loss})

    @participant.register_evaluate
    def evaluate(parameters, dataset):
        set_peft_model_state_dict(model, load_torch(parameters))
        loss, accuracy = score(model)
        return EvaluateResult(accuracy, num_samples=len("".join(HELD_OUT)), metrics={"loss": loss})

    @lru_cache(maxsize=1)  # a call gets the same parameters as the one before, so an adapter is loaded once
    def served(parameters):
        adapted = get_peft_model(LlamaForCausalLM.from_pretrained(folder), LORA)
        set_peft_model_state_dict(adapted, load_torch(parameters))
        return adapted.eval()

    @participant.register_serve
    def serve(parameters, text):
        return complete(served(parameters), text)

    return participant


def load_adapter(folder, file, out):
    """The downloaded file is what PEFT calls adapter_model.safetensors; with its config beside it, PEFT loads it."""
    LORA.save_pretrained(out)
    shutil.copyfile(file, Path(out) / "adapter_model.safetensors")
    base, _ = score(LlamaForCausalLM.from_pretrained(folder))
    loss, accuracy = score(PeftModel.from_pretrained(LlamaForCausalLM.from_pretrained(folder), out))
    print(json.dumps({"base_loss": base, "loss": loss, "accuracy": accuracy}))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("command", choices=("base", "join", "load"))
    arguments.add_argument("folder", help="of the base model")
    arguments.add_argument("file", nargs="?", help="load: the adapter")
    arguments.add_argument("--part", default="0/1", metavar="PART/OF", help="join: the part of the text")
    arguments.add_argument("--out", default="adapter", help="load: the folder to make")
    given = arguments.parse_args()
    if given.command == "base":
        make_base(given.folder)
    elif given.command == "join":
        make_participant(given.folder, *(int(number) for number in given.part.split("/"))).run()
    else:
        load_adapter(given.folder, given.file, given.out)
