"""Where records rest: files, SQLite, Supermemory. Each store knows nothing of the others."""
