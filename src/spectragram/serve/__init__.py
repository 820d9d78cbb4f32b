"""A page in the browser for all kinds of model: look at what they say about a text, and annotate with their help.

    spectragram serve english.sgm --corpus sentences.conllu

Starlette and uvicorn (the extra ``serve``) are imported when a server is made.
"""

from spectragram.serve.server import serve

__all__ = ["serve"]
