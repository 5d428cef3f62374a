"""A provider's answer to RawOffers: one module per provider, loaded by name and never by an import statement."""
