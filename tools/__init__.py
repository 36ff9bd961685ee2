"""What is done to the package before it is given away: its dependencies audited, its wheel built and described."""
