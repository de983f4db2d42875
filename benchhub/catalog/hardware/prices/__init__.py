"""List prices of hardware and licences, and exchange rates: added one by one or as a list, and taken back."""
