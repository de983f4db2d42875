"""The page of a design: its matrix as the result, with any two of its dimensions as rows and columns."""
