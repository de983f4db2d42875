"""What prices rest on, frozen with a snapshot: `rows` of the catalogue, and curves with their price book."""
