"""What words mean: records, facts, and the pure step from a provider's words to an Offer. Imports nothing of ours."""
