"""The command line as data, and what is written from it: completions for shells, manual pages."""
