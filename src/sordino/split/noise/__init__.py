"""What a client does to embeddings before they leave: one law of noise a file, found by its registry. Torch-free."""

from sordino.split.noise.base import NOISES, EmbeddingNoise, Guarantee, Space
from sordino.split.noise.d_chi import DChi
from sordino.split.noise.gaussian import Gaussian
from sordino.split.noise.l1_product import L1Product
from sordino.split.noise.none import NoNoise

__all__ = ["NOISES", "DChi", "EmbeddingNoise", "Gaussian", "Guarantee", "L1Product", "NoNoise", "Space"]
