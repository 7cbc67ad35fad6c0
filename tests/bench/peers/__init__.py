"""The product's index beside other embedded vector stores, in one run (see ``__main__``)."""
