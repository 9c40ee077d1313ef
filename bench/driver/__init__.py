"""bench: asks every peer every question, in turns, and reports the answers side by side."""
