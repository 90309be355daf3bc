"""How records go to the cloud and come back: names, documents, and when to try again. Pure."""
