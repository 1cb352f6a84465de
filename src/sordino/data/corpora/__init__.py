"""One module a corpus; each registers its class in `sordino.data.corpus.CORPORA`."""
