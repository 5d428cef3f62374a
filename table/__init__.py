"""What a reader sees: the same rows as table, JSON, CSV, Markdown or Parquet."""
