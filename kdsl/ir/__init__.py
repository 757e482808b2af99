"""The typed tree between frontend and codegen."""
