"""The home page as a board: what runs, what was found, what needs a person, the week ahead, trends of systems."""
