"""Small recurrent networks that predict the next symbol, for benchmarks that learn automata from them; needs torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

__all__ = ["Network", "train"]

EMBEDDED, HIDDEN = 16, 64
EPOCHS, BATCH, RATE = 12, 128, 1e-2
LONGEST = 60
"""Longer strings are left out of training, and drawn strings are cut there."""
ASKED = 4096
"""Strings that go through the network at once."""


class Network(torch.nn.Module):
    """An embedding, one recurrent layer, and the distribution of the next symbol or the end.

    Symbols are 0, ..., k - 1; k is the begin as an input and the end as an output.
    """

    def __init__(self, n_symbols: int, cell: str) -> None:
        super().__init__()
        self.n_symbols = n_symbols
        self.embed = torch.nn.Embedding(n_symbols + 1, EMBEDDED)
        self.recurrent = getattr(torch.nn, cell)(EMBEDDED, HIDDEN, batch_first=True)
        self.out = torch.nn.Linear(HIDDEN, n_symbols + 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Log-probabilities of what comes after every input, (n, T) -> (n, T, k + 1)."""
        scores: torch.Tensor = self.out(self.recurrent(self.embed(inputs))[0])
        return scores.log_softmax(-1)

    def padded(self, strings: Sequence[tuple[int, ...]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Strings with the begin before them, (n, T + 1), and their lengths, (n,)."""
        lengths = torch.tensor([len(string) for string in strings])
        inputs = torch.full((len(strings), 1 + int(lengths.max())), self.n_symbols)
        for number, string in enumerate(strings):
            inputs[number, 1 : 1 + len(string)] = torch.tensor(string, dtype=torch.long)
        return inputs, lengths

    @torch.no_grad()
    def following(self, strings: Sequence[tuple[int, ...]]) -> np.ndarray:
        """The distribution of what follows each string, (n, k + 1), the end last."""
        found = np.empty((len(strings), self.n_symbols + 1))
        order = sorted(range(len(strings)), key=lambda i: len(strings[i]))
        for first in range(0, len(order), ASKED):
            chosen = order[first : first + ASKED]
            inputs, lengths = self.padded([strings[i] for i in chosen])
            found[chosen] = self(inputs)[torch.arange(len(chosen)), lengths].double().exp().numpy()
        return found / found.sum(axis=1, keepdims=True)

    @torch.no_grad()
    def log_probs(self, strings: Sequence[tuple[int, ...]]) -> np.ndarray:
        """Log-probability of each string, (n,)."""
        inputs, lengths = self.padded(strings)
        return self._summed(inputs, lengths).double().numpy()

    def loss(self, strings: Sequence[tuple[int, ...]]) -> torch.Tensor:
        """Mean negative log-probability of a symbol."""
        inputs, lengths = self.padded(strings)
        return -self._summed(inputs, lengths).sum() / (lengths + 1).sum()

    def _summed(self, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        wanted = torch.cat([inputs[:, 1:], torch.full((len(inputs), 1), self.n_symbols)], dim=1)
        steps = self(inputs).gather(2, wanted[:, :, None])[:, :, 0]
        inside = torch.arange(inputs.shape[1])[None] <= lengths[:, None]
        return (steps * inside).sum(dim=1)

    @torch.no_grad()
    def draw(self, n: int, seed: int) -> list[tuple[int, ...]]:
        """Strings drawn from the network."""
        generator = torch.Generator().manual_seed(seed)
        strings: list[list[int]] = [[] for _ in range(n)]
        active, symbols, state = list(range(n)), torch.full((n, 1), self.n_symbols), None
        for _ in range(LONGEST):
            hidden, state = self.recurrent(self.embed(symbols), state)
            drawn = torch.multinomial(self.out(hidden[:, 0]).softmax(-1), 1, generator=generator)
            going_on = torch.nonzero(drawn[:, 0] < self.n_symbols)[:, 0]
            active, symbols = [active[i] for i in going_on.tolist()], drawn[going_on]
            if not active:
                break
            for i, symbol in zip(active, symbols[:, 0].tolist(), strict=True):
                strings[i].append(symbol)
            state = tuple(s[:, going_on] for s in state) if isinstance(state, tuple) else state[:, going_on]
        return [tuple(string) for string in strings]


def train(strings: Sequence[tuple[int, ...]], n_symbols: int, cell: str, seed: int) -> Network:
    """A network trained by Adam with a rate that falls to zero; strings of about one length form a batch."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    ordered = sorted((string for string in strings if len(string) <= LONGEST), key=len)
    batches = [ordered[first : first + BATCH] for first in range(0, len(ordered), BATCH)]
    network = Network(n_symbols, cell)
    optimizer = torch.optim.Adam(network.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * len(batches))
    for _ in range(EPOCHS):
        for number in rng.permutation(len(batches)):
            optimizer.zero_grad()
            network.loss(batches[number]).backward()
            optimizer.step()
            schedule.step()
    return network.eval()
