"""Pure: what models and people read: answers of tools, pages, and context within a budget."""
