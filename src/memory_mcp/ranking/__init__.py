"""Pure: from a question to terms, and from candidates to an order with scores."""
