"""Fine-tunes all-MiniLM-L6-v2 to find, for a question, the turn of a conversation that answers it.

    cd packaging/model_pack
    python train_dialogue.py train OUT.pt --data DIR --sets NAME=SHARE[@MEMORIES] ...
    python train_dialogue.py mix OUT.pt RUN.pt [RUN.pt ...] --share 0.7

DIR has a file NAME.jsonl for each set of ``DIALOGUE_SOURCES.md``, a conversation a line:

    {"kind": "friends|meeting|assistant|passages", "turns": [[speaker, text], ...],
     "questions": [[text, [turn, ...]], ...]}

A conversation with an assistant that has no questions gives some: each of the person's messages asks for the reply, and
the first sentence of a reply for the message before it. The conversations of a set are put together to memories of
about 600 passages. The negatives of a question are the answers of others of its memory, and the nearest wrong passages
by the shipped model.

The loss is the cross-entropy over the passages of a batch, by cosine and by MaxSim (Khattab & Zaharia 2020) together,
because the program ranks with both. Word embeddings stay as they are. ``mix`` averages the weights of several runs, and
those with the original weights (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models"): at a share of 0.7 a
model finds as much in people's chats as at 1, and loses nothing in assistants'.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from build_minilm import source_folder
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch.nn import functional
from transformers import BertModel

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "models"))

import appliance_models  # noqa: E402  (found beside this script)

MEMORY_PASSAGES = 600
PASSAGE_WORDS, PASSAGES_OF_TURN = 75, 6
PASSAGE_TOKENS, QUESTION_TOKENS, SEPARATOR = 112, 48, 102
BATCH, MIN_BATCH, HARD_NEGATIVES, NEAREST, HARD_POOL = 16, 4, 2, 60, 25
RATE, WARM_UP, WEIGHT_DECAY, EPOCHS = 3e-5, 0.1, 0.01, 2
COSINE_SCALE, MAX_SIM_SCALE = 20.0, 30.0
FROZEN = ("embeddings.word", "embeddings.pos", "embeddings.token", "pooler")

_ASSISTANT = re.compile(r"^(assistant|bot|ai)$", re.IGNORECASE)
_SENTENCE = re.compile(r"\s*(.{25,220}?[.!:])(?:\s|$)", re.DOTALL)


@dataclass
class Memory:
    """Passages that are searched together, and questions with the passages that answer each. ``barred`` passages are no
    negatives of a question, such as the message that asks it."""

    passages: list[str] = field(default_factory=list)
    questions: list[tuple[str, list[int]]] = field(default_factory=list)
    barred: list[set[int]] = field(default_factory=list)

    def ask(self, question: str, answers: list[int], barred: set[int]) -> None:
        self.questions.append((question, answers))
        self.barred.append(barred)


@dataclass
class Prepared:
    """A memory in tokens, with the hard negatives of each question."""

    memory: Memory
    passages: list[list[int]]
    questions: list[list[int]]
    hard: list[list[int]]


def read_set(path: Path, share: float, chance: random.Random) -> list[Memory]:
    """Read a set as memories, with a share of its questions."""
    lines = path.read_text(encoding="utf-8").splitlines()
    chance.shuffle(lines)
    found, memory = [], Memory()
    for line in lines:
        add_conversation(memory, json.loads(line), share, chance)
        if len(memory.passages) >= MEMORY_PASSAGES:
            found.append(memory)
            memory = Memory()
    if memory.questions:
        found.append(memory)
    return [one for one in found if len(one.questions) >= MIN_BATCH]


def add_conversation(memory: Memory, talk: dict[str, list], share: float, chance: random.Random) -> None:  # type: ignore[type-arg]
    places = []
    for speaker, text in talk["turns"]:
        parts = list(split(text))
        places.append(list(range(len(memory.passages), len(memory.passages) + len(parts))))
        memory.passages += [f'{speaker} said, "{part}"' if speaker else part for part in parts]
    for question, turns in talk["questions"]:
        answers = [passage for turn in turns if turn < len(places) for passage in places[turn]]
        if answers and chance.random() < share:
            memory.ask(question, answers, set(answers))
    if talk["kind"] != "assistant" or talk["questions"]:
        return
    for place, ((speaker, asked), (other, reply)) in enumerate(zip(talk["turns"], talk["turns"][1:], strict=False)):
        if _ASSISTANT.match(speaker) or not _ASSISTANT.match(other):
            continue
        barred = {*places[place], *places[place + 1]}
        if chance.random() < share and 3 <= len(asked.split()) <= 60:
            memory.ask(asked, places[place + 1], barred)
        opening = _SENTENCE.match(reply)
        first = opening[1].replace("\n", " ").strip() if opening else ""
        if chance.random() < share and len(first.split()) >= 7 and len(asked.split()) >= 8:
            memory.ask(first, places[place], barred)


def split(text: str) -> Iterator[str]:
    words = text.split()
    for start in range(0, max(1, len(words)), PASSAGE_WORDS)[:PASSAGES_OF_TURN]:
        yield " ".join(words[start : start + PASSAGE_WORDS])


def encode(tokenizer: Tokenizer, texts: Sequence[str], limit: int) -> list[list[int]]:
    encoded = [one.ids for one in tokenizer.encode_batch(list(texts))]
    return [ids if len(ids) <= limit else [*ids[: limit - 1], SEPARATOR] for ids in encoded]


def prepare(memory: Memory, tokenizer: Tokenizer) -> Prepared:
    """Encode a memory, and find the nearest wrong passages of each question by the shipped model."""
    passages = encode(tokenizer, memory.passages, PASSAGE_TOKENS)
    questions = encode(tokenizer, [question for question, _ in memory.questions], QUESTION_TOKENS)
    near = shipped_vectors(questions) @ shipped_vectors(passages).T
    hard = []
    for similarities, barred in zip(near, memory.barred, strict=True):
        nearest = np.argsort(-similarities)[:NEAREST].tolist()
        hard.append([passage for passage in nearest if passage not in barred][:HARD_POOL])
    return Prepared(memory, passages, questions, hard)


def shipped_vectors(ids: Sequence[list[int]]) -> NDArray[np.float32]:
    model = appliance_models.load("all-minilm-l6-v2-int8", threads=2)
    with ThreadPoolExecutor(2) as pool:
        hidden = pool.map(model.token_vectors, ids)  # type: ignore[attr-defined]
        pooled = np.stack([one.mean(axis=0) for one in hidden])
    unit: NDArray[np.float32] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
    return unit


def hidden_states(model: BertModel, ids: Sequence[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """The last hidden states (texts, tokens, 384) and the mask (texts, tokens)."""
    tokens = torch.zeros(len(ids), max(map(len, ids)), dtype=torch.long)
    mask = torch.zeros_like(tokens)
    for row, one in enumerate(ids):
        tokens[row, : len(one)] = torch.tensor(one)
        mask[row, : len(one)] = 1
    return model(tokens, attention_mask=mask).last_hidden_state, mask.float()


def loss_of(model: BertModel, one: Prepared, rows: Sequence[int], chance: random.Random) -> torch.Tensor:
    """The loss of some questions of a memory against the answers and the hard negatives of all of them."""
    chosen = set()
    for row in rows:
        chosen.add(chance.choice(one.memory.questions[row][1]))
        chosen.update(chance.sample(one.hard[row], min(HARD_NEGATIVES, len(one.hard[row]))))
    passages = sorted(chosen)
    answers = [set(one.memory.questions[row][1]) for row in rows]
    gold = torch.tensor([[float(passage in answer) for passage in passages] for answer in answers])
    gold = gold / gold.sum(1, keepdim=True)
    left_out = torch.tensor(
        [
            [passage in one.memory.barred[row] and passage not in answer for passage in passages]
            for row, answer in zip(rows, answers, strict=True)
        ]
    )
    texts, text_mask = hidden_states(model, [one.passages[passage] for passage in passages])
    asked, asked_mask = hidden_states(model, [one.questions[row] for row in rows])
    cosine = pool(asked, asked_mask) @ pool(texts, text_mask).T * COSINE_SCALE
    similar = torch.einsum("qih,pjh->qpij", functional.normalize(asked, dim=-1), functional.normalize(texts, dim=-1))
    best = similar.masked_fill(text_mask[None, :, None, :] == 0, -1).amax(-1)
    counted = asked_mask.clone()
    counted[:, 0] = 0  # the token of the whole text
    max_sim = (best * counted[:, None, :]).sum(-1) / counted.sum(1)[:, None] * MAX_SIM_SCALE
    losses = [
        -(gold * torch.log_softmax(scores.masked_fill(left_out, -1e4), 1)).sum(1).mean() for scores in (cosine, max_sim)
    ]
    return losses[0] + losses[1]


def pool(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return functional.normalize((hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True), dim=1)


def train(model: BertModel, memories: Sequence[Prepared], minutes: float, chance: random.Random) -> None:
    batches: list[tuple[Prepared, list[int]]] = []
    for _ in range(EPOCHS):
        epoch = []
        for one in memories:
            rows = list(range(len(one.questions)))
            chance.shuffle(rows)
            parts = [rows[start : start + BATCH] for start in range(0, len(rows), BATCH)]
            epoch += [(one, part) for part in parts if len(part) >= MIN_BATCH]
        chance.shuffle(epoch)
        batches += epoch
    for name, parameter in model.named_parameters():
        parameter.requires_grad = not name.startswith(FROZEN)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=RATE, weight_decay=WEIGHT_DECAY)
    began = time.monotonic()
    model.train()
    for step, (one, rows) in enumerate(batches):
        progress = max(step / len(batches), (time.monotonic() - began) / (60 * minutes))
        if progress >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, step / (WARM_UP * len(batches) + 1)) * max(0.02, 1 - progress)
        loss = loss_of(model, one, rows, chance)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        if step % 25 == 0:
            print(f"{step} of {len(batches)}: loss {loss.item():.3f}, {time.monotonic() - began:.0f} s", flush=True)


def load_source() -> tuple[BertModel, Tokenizer]:
    folder = source_folder()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return BertModel.from_pretrained(folder, attn_implementation="sdpa"), tokenizer


def run_training(options: argparse.Namespace) -> None:
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    chance = random.Random(options.seed)
    model, tokenizer = load_source()
    memories = []
    for use in options.sets:
        name, _, amount = use.partition("=")
        share, _, most = amount.partition("@")
        found = read_set(options.data / f"{name}.jsonl", float(share or 1), chance)
        chance.shuffle(found)
        memories += [prepare(memory, tokenizer) for memory in found[: int(most) if most else None]]
    train(model, memories, options.minutes, chance)
    torch.save(model.state_dict(), options.out)


def run_mixing(options: argparse.Namespace) -> None:
    original = load_source()[0].state_dict()
    runs = [torch.load(path) for path in options.runs]
    mixed = {
        name: (1 - options.share) * weights + options.share * sum(run[name] for run in runs) / len(runs)
        if weights.is_floating_point()
        else weights
        for name, weights in original.items()
    }
    torch.save(mixed, options.out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    training = commands.add_parser("train")
    training.add_argument("out", type=Path)
    training.add_argument("--data", type=Path, required=True)
    training.add_argument("--sets", nargs="+", required=True)
    training.add_argument("--minutes", type=float, default=70)
    training.add_argument("--threads", type=int, default=1)
    training.add_argument("--seed", type=int, default=0)
    training.set_defaults(run=run_training)
    mixing = commands.add_parser("mix")
    mixing.add_argument("out", type=Path)
    mixing.add_argument("runs", type=Path, nargs="+")
    mixing.add_argument("--share", type=float, default=0.7)
    mixing.set_defaults(run=run_mixing)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
