"""Model files: safetensors with a JSON header, versioned and checksummed, never pickle, written atomically.

A model file is one safetensors file, so any reader of that format opens its arrays. The ``safetensors`` library reads
and writes the bytes; what is in them is described and checked here. The file's metadata has a single entry,

    spectragram   a JSON object: format (version of this layout), kind (of model), library (version that wrote it),
                  header (parameters, state, summary), tensors (digest of the arrays), checksum (digest of the rest)

so a flipped bit is found wherever it is, and the header can be read and verified without the arrays. There is one
entry because safetensors writes several in random order, and equal models should be equal files.

Lists of strings are tensors too: ``NAME.utf8`` holds their bytes and ``NAME.ends`` where each string ends.
"""

from spectragram.storage.files import FORMAT, Arrays, StoredModel, read, read_header, write
from spectragram.storage.strings import pack_strings, unpack_strings

__all__ = ["FORMAT", "Arrays", "StoredModel", "pack_strings", "read", "read_header", "unpack_strings", "write"]
