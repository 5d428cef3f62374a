"""History that others kept, into the same tables: files to tables of words (`read_*`), these to snapshots (`take_in`).

A snapshot of an import is history and nothing else: it is compared with the snapshot before it of the same source,
never with what is collected today, and it may only lie before the provider's first scrape of our own.
"""

from storage.imports.catalogues import read_gpuhunt, read_skypilot, source_of
from storage.imports.mapping import Mapping, MappingError, load_mapping, shipped
from storage.imports.plain import read_plain
from storage.imports.take import Imported, Step, take_in
from storage.imports.told import Source, Told, Unusable

__all__ = [
    "Imported",
    "Mapping",
    "MappingError",
    "Source",
    "Step",
    "Told",
    "Unusable",
    "load_mapping",
    "read_gpuhunt",
    "read_plain",
    "read_skypilot",
    "shipped",
    "source_of",
    "take_in",
]
