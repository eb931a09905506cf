from chasles.visual.vector_figures import to_matplotlib as to_matplotlib

__all__: list[str]
