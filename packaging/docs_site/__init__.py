"""The documentation as a site: pages made from the program, the pages of docs/, their order, and what is checked."""
