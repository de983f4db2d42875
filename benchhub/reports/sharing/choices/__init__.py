"""What readers of a link may choose: prices at other terms, from what the snapshot froze and nothing else.

`choice` reads what a reader asks for; `document` writes the snapshot's document at that choice; `edition` takes out of
it what the link hides, and makes the panel of controls.
"""
