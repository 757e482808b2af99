"""What the random programs found, as small as it could be made."""
