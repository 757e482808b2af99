"""What a kernel author imports: types, and one typed stub per intrinsic, a file per PTX chapter."""
