def compute_cleanup():
    """Where nanochat ends its process group."""
