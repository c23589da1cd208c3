"""AdamW and Muon as nanochat's README and Muon's paper (Jordan et al. 2024) describe them, for one device."""
import torch


class Muon(torch.optim.Optimizer):
    """Momentum whose direction is made orthogonal by five Newton-Schulz steps."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr, "momentum": 0.95})

    @staticmethod
    def orthogonal(g):
        x = g.T if g.shape[0] > g.shape[1] else g
        x = x / (x.norm() + 1e-7)
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        return x.T if g.shape[0] > g.shape[1] else x

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                buffer = self.state[p].setdefault("buffer", torch.zeros_like(p))
                buffer.lerp_(p.grad, 1 - group["momentum"])
                update = self.orthogonal(torch.lerp(p.grad, buffer, group["momentum"]))
                p.add_(update, alpha=-group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)


def setup_optimizers(model, unembedding_lr, embedding_lr, matrix_lr, weight_decay):
    scale = (model.config.n_embd / 768) ** -0.5
    groups = [{"params": list(model.lm_head.parameters()), "lr": unembedding_lr * scale},
              {"params": list(model.transformer.wte.parameters()), "lr": embedding_lr * scale}]
    optimizers = [torch.optim.AdamW(groups, betas=(0.8, 0.95), eps=1e-10, weight_decay=weight_decay),
                  Muon(list(model.transformer.h.parameters()), matrix_lr)]
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
    return optimizers
