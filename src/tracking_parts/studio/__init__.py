"""A local web page in which a person draws a box, watches the society vote, corrects it and exports the boxes.

It consumes results and traces; it never reaches into the tracker.
"""
